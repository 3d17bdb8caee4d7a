/** Downloads of `millrace get` that are interrupted, and continued or left alone by later runs. */

import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { CliProcess, runCli } from '../../fixtures/programs/processes.ts';
import { GetStage, SLOW } from '../../fixtures/stages/get-stage.ts';
import { until } from '../../fixtures/until.ts';

const stage = await GetStage.set();
const { origin, edge } = stage;

describe('resuming', () => {
  const size = 8_000_000;

  /**
   * Returns the ranges from a position on that the origin was asked for. Its bytes say less: on a busy
   * machine some come twice at the end.
   */
  const rangesFrom = (start: number) =>
    origin.requests
      .map(({ headers }) => headers.range)
      .filter((range) => range === undefined || range.startsWith(`bytes=${start}-`));

  test.each([
    ['directly', [] as string[]],
    ['through an edge', ['--edge', edge.url, '--edges-only']],
  ])(
    'Ctrl-C leaves a partial file, says so, and the same command resumes it: %s',
    async (how, via) => {
      const url = origin.url('none', { size, seed: `ctrl-c ${how}` });
      const run = await stage.partly(url, [...via, ...SLOW]);
      run.child.kill('SIGINT');
      const interrupted = await run.result;
      expect(interrupted.code).toBe(130);
      expect(interrupted.stderr).toMatch(/Interrupted[\s\S]*same command/);
      expect((await readdir(stage.folder)).sort()).toEqual([
        'file.bin.millrace-journal',
        'file.bin.millrace-part',
      ]);
      origin.reset();
      const resumed = await runCli(['get', url, '-d', stage.folder, ...via]);
      expect(resumed.code).toBe(0);
      expect(resumed.stdout).toMatch(/are there already/);
      expect(await stage.digestOf('file.bin')).toBe(origin.digest(url));
      if (via.length === 0) expect(rangesFrom(0)).toEqual(['bytes=0-65535']);
      expect(await readdir(stage.folder)).toEqual(['file.bin']);
    },
  );

  test('a link that a resolver has found and that has expired is found anew, and what is stored is used', async () => {
    const good = origin.url('none', { size, seed: 'resolved' });
    const state = stage.path('state');
    const env = { MILLRACE_STATE: state };
    const script = stage.path('resolver');
    // Each time it is asked, it prints the next line.
    await writeFile(
      script,
      `#!/bin/sh\ncd '${stage.folder}'; echo >> asked; sed -n "$(wc -l < asked)p" links\n`,
    );
    await chmod(script, 0o755);
    const page = origin.url('none', { size, seed: 'page', name: 'page' });
    const links = [good, origin.url('forbidden', { size, seed: 'resolved' }), good];
    const answers = links.map((url) => JSON.stringify({ urls: [url], name: 'film.bin' }));
    await writeFile(stage.path('links'), answers.join('\n'));
    await runCli(['resolvers', 'set', 'own', '--', script], env);
    const words = ['get', page, '--resolver', 'own', '-d', stage.folder];
    const run = new CliProcess([...words, ...SLOW], env);
    const journal = stage.path('film.bin.millrace-journal');
    await until(async () => /\n.*\n/.test(await readFile(journal, 'utf8').catch(() => '')));
    run.child.kill('SIGINT');
    expect((await run.result).code).toBe(130);
    origin.reset();
    const { code, stdout, stderr } = await runCli(words, env);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain('The link has expired: own has found a new one.');
    expect(stdout).toMatch(/are there already/);
    expect(await stage.digestOf('film.bin')).toBe(origin.digest(good));
  });

  test('Ctrl-C during a file that comes in one piece says that it starts from the beginning', async () => {
    const url = origin.url('no-ranges', { size, seed: 'one piece' });
    const run = new CliProcess(['get', url, '-d', stage.folder, ...SLOW]);
    const part = stage.path('file.bin.millrace-part');
    // The note comes before the first byte is stored.
    await until(async () => (await readFile(part).catch(() => '')).length > 0);
    run.child.kill('SIGINT');
    const { code, stdout, stderr } = await run.result;
    expect(code).toBe(130);
    expect(stdout).toContain('cannot be resumed');
    expect(stderr).toMatch(/Interrupted[\s\S]*starts from the beginning/);
    expect(stderr).not.toContain('continues');
    const again = await runCli(['get', url, '-d', stage.folder]);
    expect(again.code).toBe(0);
    expect(again.stdout).not.toContain('are there already');
    expect(await stage.digestOf('file.bin')).toBe(origin.digest(url));
  });

  test('kill -9 at any moment may lose bytes, but leaves no wrong one', async () => {
    const url = origin.url('none', { size, seed: 'kill' });
    for (let round = 0; round < 4; round++) {
      const run = await stage.partly(url, [...SLOW]);
      run.child.kill('SIGKILL');
      await run.result;
    }
    const result = await runCli(['get', url, '-d', stage.folder]);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(await stage.digestOf('file.bin')).toBe(origin.digest(url));
  });

  test('bytes that another program has changed in the partial file are fetched again', async () => {
    const url = origin.url('none', { size, seed: 'altered' });
    const run = await stage.partly(url, [...SLOW]);
    run.child.kill('SIGKILL');
    await run.result;
    const part = await readFile(stage.path('file.bin.millrace-part'));
    for (let at = 0; at < part.length; at += 500_000) part.writeUInt8(part.readUInt8(at) ^ 255, at);
    await writeFile(stage.path('file.bin.millrace-part'), part);
    expect((await runCli(['get', url, '-d', stage.folder])).code).toBe(0);
    expect(await stage.digestOf('file.bin')).toBe(origin.digest(url));
  });

  test('a log-in page that comes in place of the file leaves what is stored', async () => {
    const url = origin.url('login-page-later', { size, seed: 'page' });
    const run = await stage.partly(url, [...SLOW, '--connections', '1']);
    run.child.kill('SIGKILL');
    await run.result;
    // The origin gives the file to two requests only.
    const refused = await runCli(['get', url, '-d', stage.folder]);
    const { code, stderr } = await runCli(['get', url, '-d', stage.folder]);
    expect({ first: refused.code, code, stderr }).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('web page'),
    });
    expect((await readdir(stage.folder)).sort()).toEqual([
      'file.bin.millrace-journal',
      'file.bin.millrace-part',
    ]);
  });

  test('a file that has changed between runs is never spliced', async () => {
    const url = origin.url('none', { size, seed: 'changed' });
    const run = await stage.partly(url, [...SLOW]);
    run.child.kill('SIGINT');
    await run.result;
    origin.replace(url, 2);
    const result = await runCli(['get', url, '-d', stage.folder]);
    expect(result.code).toBe(0);
    expect(result.stdout).toMatch(/another version/);
    expect(await stage.digestOf('file.bin')).toBe(origin.digest(url, 2));
  });

  test('a file that changes during the run is fetched whole, in its new version', async () => {
    const url = origin.url('cut-and-changed', { size, seed: 'changing' });
    const result = await runCli(['get', url, '-d', stage.folder]);
    expect(result.code).toBe(0);
    expect(result.stdout).toMatch(/has changed at the source/);
    expect(await stage.digestOf('file.bin')).toBe(origin.digest(url, 2));
  });
});

describe('a name that another download has begun to use', () => {
  const size = 12_000_000;
  const a = origin.url('none', { size, seed: 'first' });
  const b = origin.url('none', { size, seed: 'second' });

  beforeEach(async () => {
    const run = await stage.partly(a, [...SLOW]);
    run.child.kill('SIGINT');
    await run.result;
  });

  test('is left alone: the next free name is used, also when that download is resumed', async () => {
    const run = await stage.partly(b, [...SLOW], 'file.1.bin');
    run.child.kill('SIGINT');
    await run.result;
    const other = await runCli(['get', b, '-d', stage.folder]);
    expect(other).toMatchObject({ code: 0, stderr: '' });
    expect(other.stdout).toMatch(/file\.1\.bin: .* are there already/);
    expect(await stage.digestOf('file.1.bin')).toBe(origin.digest(b));
    const same = await runCli(['get', a, '-d', stage.folder]);
    expect(same.stdout).toMatch(/file\.bin: .* are there already/);
    expect(await stage.digestOf('file.bin')).toBe(origin.digest(a));
    expect((await readdir(stage.folder)).sort()).toEqual(['file.1.bin', 'file.bin']);
  });

  test('is an error when the user has chosen it, unless told to replace it', async () => {
    const refused = await runCli(['get', b, '-o', stage.path('file.bin')]);
    expect(refused.code).toBe(7);
    expect(refused.stderr).toMatch(/another file.*millrace-part belongs to .*seed=first/);
    expect(refused.stderr).toMatch(/another name with -o.*--overwrite/);
    expect((await runCli(['get', b, '-o', stage.path('file.bin'), '--overwrite'])).code).toBe(0);
    expect(await stage.digestOf('file.bin')).toBe(origin.digest(b));
    expect(await readdir(stage.folder)).toEqual(['file.bin']);
  });

  test('is resumed under a link whose query has changed', async () => {
    const signed = `${a}&signature=new`;
    const result = await runCli(['get', signed, '-d', stage.folder]);
    expect(result.stdout).toMatch(/file\.bin: .* are there already/);
    expect(await stage.digestOf('file.bin')).toBe(origin.digest(a));
    expect(await readdir(stage.folder)).toEqual(['file.bin']);
  });
});
