/** `sync push`: a folder is brought to hosts that have only a shell, curl and sha256sum. */

import { existsSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { processState } from '../../../desktop/local/process-state.ts';
import { racesOf } from '../../fixtures/programs/cluster.ts';
import { CliProcess, runCli } from '../../fixtures/programs/processes.ts';
import { PushHosts, whereIs } from '../../fixtures/stages/push-hosts.ts';
import { SyncFolders } from '../../fixtures/stages/sync-folders.ts';
import { bytesOf, filesIn, published } from '../../fixtures/stages/sync-stage.ts';
import { until } from '../../fixtures/until.ts';

const LARGEST_BYTES = 700_000;
const folders = new SyncFolders('pushing folders to hosts');
const { describe, test } = folders;

/** A published folder, and what pushes it. */
async function make(files: Readonly<Record<string, number>>) {
  const { dir, publish, ...rest } = await folders.make(files);
  const hosts = await PushHosts.in(folders.stage.place(`hosts of ${folders.begun}`));
  await publish();
  const args = (targets: readonly string[], ...more: string[]) => [
    ...['sync', 'push', join(dir, 'millrace-sync.json'), ...targets],
    ...['--edge', folders.edge.url, '--edges-only', ...hosts.ssh, ...more],
  ];
  return { dir, publish, hosts, args, ...rest };
}

/** Digests of files by their paths. */
async function digestsIn(dir: string): Promise<Record<string, string>> {
  const files = await filesIn(dir);
  return Object.fromEntries(Object.entries(files).map(([path, { sha256 }]) => [path, sha256]));
}

describe('push', () => {
  test('brings a folder to hosts, and the origin sends everything once', async () => {
    const many = Array.from({ length: 45 }, (_, i) => [`d${i % 5}/file ${i}`, 1000 + i] as const);
    const { dir, hosts, args } = await make({
      ...Object.fromEntries(many),
      ...{ '-n': 7, empty: 0, 'b/it\'s "odd" $HOME `x` %41é.txt': 200, 'large.bin': LARGEST_BYTES },
    });
    const odd = 'it\'s "a"\n$(touch harm) `touch harm`; -x';
    const homes = [await hosts.add('a'), await hosts.add('b'), await hosts.add('c')];
    const targets = ['a:site', `b:${odd}`, 'c:-x/y'];
    const places = ['site', odd, '-x/y'].map((place, i) => join(homes[i] as string, place));
    const expected = await digestsIn(dir).then(({ 'millrace-sync.json': _, ...rest }) => rest);

    const racedBefore = await racesOf([folders.edge]);
    await folders.stage.sent();
    const dry = await runCli(args(targets, '--dry-run'));
    expect(dry.stderr).toBe('');
    expect(dry.stdout).toContain('a:site: 49 files to fetch, 0 unchanged');
    expect(places.some((place) => existsSync(place))).toBe(false);

    const first = await runCli(args(targets, '--parallel', '2'));
    expect(first.stderr).toBe('');
    expect(first.code).toBe(0);
    for (const place of places) expect(await digestsIn(place)).toEqual(expected);
    expect(first.stdout).toMatch(/^a:site: 49 files fetched, 0 unchanged, [\d.]+ s$/m);
    expect(first.stdout).toMatch(/^3 hosts done$/m);
    const script = join(dir, 'millrace-sync.sh');
    const all = [script, ...Object.keys(expected).map((path) => join(dir, path))];
    // On a busy machine, the edge may race a request: then the origin may send the largest file again.
    const mayComeTwice = async () =>
      ((await racesOf([folders.edge])) - racedBefore) * LARGEST_BYTES;
    const { bytes: sent } = await folders.stage.sent();
    const once = await bytesOf(all);
    expect(sent).toBeGreaterThanOrEqual(once);
    expect(sent).toBeLessThanOrEqual(once + (await mayComeTwice()));
    for (const home of homes) expect(existsSync(join(home, 'harm'))).toBe(false);

    // The next run only fetches what is missing: a file here, nothing there.
    await rm(join(places[1] as string, 'd0/file 0'));
    const again = JSON.parse((await runCli(args(targets, '--json'))).stdout);
    const counts = again.hosts.map((host: Record<string, unknown>) => [
      ...[host.host, host.done, host.unchanged, host.fetched],
    ]);
    expect(counts.sort()).toEqual([
      ['a', true, 49, 0],
      ['b', true, 48, 1],
      ['c', true, 49, 0],
    ]);
    expect((await folders.stage.sent()).bytes).toBeLessThanOrEqual(await mayComeTwice());
    // The folder's script does not belong to its files.
    const { size } = await stat(script);
    expect(size).toBeGreaterThan(10_000);
    expect(Object.keys(await published(dir))).toContain('millrace-sync.sh');
    expect(await readFile(join(dir, 'millrace-sync.json'), 'utf8')).not.toContain('sync.sh');
  });

  test('says which hosts are not done, and why', async () => {
    const { hosts, args } = await make({ 'a.txt': 100 });
    const good = await hosts.add('good');
    await hosts.add('bare');
    await hosts.giveCurl('bare', undefined);
    const fooled = await hosts.add('fooled');
    // The curl of this host brings another script, which must not run.
    const ran = join(fooled, 'ran');
    const other = `echo 'touch "${ran}"' >"$out"`;
    const curl = `while [ "$1" != -- ]; do [ "$1" != -o ] || out=$2; shift; done\n${other}\n`;
    await hosts.giveCurl('fooled', curl);

    const targets = ['bare:x', 'down:x', 'fooled:x', 'good:x'];
    const { code, stdout } = await runCli(args(targets));
    expect(code).toBe(8);
    expect(stdout).toMatch(/^bare:x: FAILED: .*this host has no curl/m);
    expect(stdout).toMatch(/^down:x: FAILED: the host cannot be reached.*ssh: no host down/m);
    expect(stdout).toMatch(/^fooled:x: FAILED: the script has a wrong digest there/m);
    expect(stdout).toMatch(/^good:x: 1 file fetched/m);
    expect(stdout).toMatch(/^1 of 4 hosts done; the same command continues$/m);
    expect(existsSync(ran)).toBe(false);
    expect(Object.keys(await filesIn(join(good, 'x')))).toEqual(['a.txt']);
  });

  test('takes no script from a server but that of the manifest', async () => {
    const { dir, publish, hosts, args, url } = await make({ 'a.txt': 100 });
    await hosts.add('a');
    const script = ['--script', join(dir, 'millrace-sync.sh')];
    // Published for hosts that ask the origin.
    await publish(...script);
    const byUrl = args(['a:x']).with(2, url);
    const refused = await runCli(byUrl);
    expect([refused.code, refused.stdout]).toEqual([5, '']);
    expect(refused.stderr).toContain('is not the script of this manifest and these edges');
    await publish(...script, '--edge', folders.edge.url, '--edges-only');
    expect((await runCli(byUrl)).stdout).toMatch(/^a:x: 1 file fetched/m);
  });

  test('an interrupt ends ssh, and the work on the hosts', async () => {
    const { hosts, args } = await make({ 'a.txt': 100 });
    const homes = [await hosts.add('a'), await hosts.add('b')];
    for (const name of ['a', 'b']) {
      // The script comes at once, its files never.
      const curl = `case $* in
  *millrace-sync.sh*) exec ${whereIs('curl')} "$@" ;;
esac
echo "$$" >"$HOME/curl.pid"
exec ${whereIs('sleep')} 1000
`;
      await hosts.giveCurl(name, curl);
    }
    const pidIn = (home: string) =>
      readFile(join(home, 'curl.pid'), 'utf8').then(Number, () => undefined);
    const push = new CliProcess(args(['a:x', 'b:x']));
    await until(async () => (await Promise.all(homes.map(pidIn))).every((pid) => (pid ?? 0) > 0));
    const pids = [...homes.map(pidIn), hosts.pidOf('a'), hosts.pidOf('b')];
    push.child.kill('SIGINT');
    expect((await push.result).code).toBe(130);
    for (const pid of (await Promise.all(pids)) as number[])
      await until(() => processState(pid) === 'gone');
  });
});
