import { readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { CONTENT, PartialFileStage } from '../../testing/partial-file-stage.ts';
import { holdName } from '../files/held-name.ts';

const stage = PartialFileStage.forEachTest();
const held = '00000000-0000-4000-8000-000000000001';
const other = '00000000-0000-4000-8000-000000000002';
const code = (code: string) => expect.objectContaining({ code });

describe('a file whose name is held for it', () => {
  test('takes the place of the file that holds its name', async () => {
    holdName(stage.path, held);
    const file = await stage.start({ held });
    await stage.store(file, [0, 1000]);
    await file.finish(1000);
    await file.settle(true);
    expect(await stage.names()).toEqual(['file.iso']);
    expect((await readFile(stage.path)).equals(CONTENT)).toBe(true);
  });

  test('is resumed by a later run', async () => {
    holdName(stage.path, held);
    const before = await stage.start({ held });
    await stage.store(before, [0, 500]);
    await stage.end(before);
    const after = await stage.start({ held });
    expect(stage.stored(after)).toEqual([[0, 500]]);
    await stage.store(after, [500, 1000]);
    await stage.completes(after);
  });

  test('replaces no file that another program put there', async () => {
    holdName(stage.path, held);
    const file = await stage.start({ held });
    await stage.store(file, [0, 1000]);
    await writeFile(stage.path, 'the browser’s');
    await expect(file.finish(1000)).rejects.toEqual(code('file-exists'));
    expect(await readFile(stage.path, 'utf8')).toBe('the browser’s');
  });

  test('is finished even if the holding file is gone', async () => {
    holdName(stage.path, held);
    const file = await stage.start({ held });
    await stage.store(file, [0, 1000]);
    await rm(stage.path);
    await stage.completes(file);
  });

  test('is not begun if another download holds the name', async () => {
    holdName(stage.path, other);
    await expect(stage.start({ held })).rejects.toEqual(code('file-exists'));
    await expect(stage.start()).rejects.toEqual(code('file-exists'));
    expect(await readFile(stage.path, 'utf8')).toContain(other);
  });
});
