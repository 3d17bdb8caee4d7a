import { describe, expect, test } from '@jest/globals';
import { countsCsv, DownloadTable, MAX_DAYS, OTHER_FILES, summedBy } from './download-table.ts';

const one = { begun: 1, completed: 0, bytes: 10 };

describe('DownloadTable', () => {
  test('sums by day, file and country, and gives a range of days', () => {
    const table = new DownloadTable();
    table.add(20_001, 'b', 'DE', one);
    table.add(20_000, 'a', 'FR', one);
    table.add(20_000, 'a', 'DE', one);
    table.add(20_000, 'a', 'DE', { begun: 0, completed: 1, bytes: 5 });
    expect(table.rows(20_000, 20_000)).toEqual([
      { day: '2024-10-04', file: 'a', country: 'DE', begun: 1, completed: 1, bytes: 15 },
      { day: '2024-10-04', file: 'a', country: 'FR', ...one },
    ]);
    const all = table.rows(0, 30_000);
    expect(summedBy(all, 'country')).toEqual([
      { name: 'DE', begun: 2, completed: 1, bytes: 25 },
      { name: 'FR', begun: 1, completed: 0, bytes: 10 },
    ]);
    expect(summedBy(all, 'day').map(({ begun }) => begun)).toEqual([2, 1]);
  });

  test('is the same after a restart, and malformed entries are left out', () => {
    const table = new DownloadTable();
    table.add(20_000, 'https://a.example/"x",1', 'DE', one);
    const saved = JSON.parse(JSON.stringify(table.save()));
    const again = new DownloadTable();
    again.restore([...saved, { ...saved[0], bytes: -1 }, { ...saved[0], day: '2024-99-99' }, null]);
    again.restore('nonsense');
    expect(again.save()).toEqual(table.save());
    expect(countsCsv(again.save())).toBe(
      'day,file,country,begun,completed,bytes\r\n2024-10-04,"https://a.example/""x"",1",DE,1,0,10\r\n',
    );
  });

  test('made-up names push out no file in demand, and no download is lost from the sums', () => {
    const table = new DownloadTable(5);
    for (let i = 0; i < 3; i++) table.add(20_000, 'wanted', 'DE', one);
    for (let i = 0; i < 1000; i++) table.add(20_000, `made-up-${i}`, 'DE', one);
    const files = summedBy(table.save(), 'file');
    expect(files.length).toBeLessThanOrEqual(6);
    expect(files.find(({ name }) => name === 'wanted')?.begun).toBe(3);
    expect(files.reduce((sum, { begun }) => sum + begun, 0)).toBe(1003);
    expect(files.find(({ name }) => name === OTHER_FILES)?.begun).toBeGreaterThan(900);
  });

  test('keeps a bounded number of days', () => {
    const table = new DownloadTable();
    for (let day = 0; day < MAX_DAYS + 10; day++) table.add(day, 'a', 'DE', one);
    expect(summedBy(table.save(), 'day')).toHaveLength(MAX_DAYS);
    expect(table.rows(0, 9)).toEqual([]);
  });
});
