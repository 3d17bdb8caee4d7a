import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Resolver } from '@millrace/shared/bridge/rpc/settings-api';
import { processState } from '../../local/process-state.ts';
import { until } from '../../testing/fake-daemon.ts';
import { checkedParams } from '../remote/places.ts';
import { resolverFile } from './resolver-file.ts';
import { readResolvers, removeResolver, setResolver } from './resolver-list.ts';
import { Resolvers } from './resolvers.ts';

const PAGE = 'https://page.example/watch?v=1';
const { signal } = new AbortController();
const { PATH } = process.env;
let state: string;
let resolvers: Resolvers;

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'millrace-resolvers-'));
  resolvers = new Resolvers(state);
});
afterEach(() => {
  resolvers.close();
  process.env.PATH = PATH;
  delete process.env.MILLRACE_USER;
  rmSync(state, { recursive: true });
});

/** Writes a shell script. @returns its path */
function script(name: string, text: string): string {
  const path = join(state, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Sets up a resolver that is a shell script. */
async function set(text: string, more: Partial<Resolver> = {}): Promise<void> {
  const args = [script('resolver', text)];
  const usual = { seconds: 30, prints: 'answer' } as const;
  await setResolver(state, { name: 'own', args, patterns: ['page.example'], ...usual, ...more });
}

const ask = (more: object = {}) => resolvers.ask({ url: PAGE, ...more }, signal);

describe('a resolver', () => {
  test('gets the URL as a line, without log-in and fragment, and its answer is read', async () => {
    await set(
      `read url; printf '{"urls": ["%s/f", "https://b.example/f#x"], "name": "../a b.zip", "length": 5, "headers": {"Referer": "%s"}, "expires": 4102444800}' https://cdn.example "$url"`,
    );
    const found = await resolvers.ask({ url: 'https://me:secret@page.example/p?a=b#c' }, signal);
    expect(found).toMatchObject({
      by: 'own',
      answer: {
        urls: ['https://cdn.example/f', 'https://b.example/f'],
        headers: { referer: 'https://page.example/p?a=b' },
        name: 'a b.zip',
        length: 5,
        expires: 4_102_444_800_000,
      },
    });
  });

  test('is asked by its patterns or by its name, and not at all if the user does not want it', async () => {
    await set(`echo '{"urls": ["https://cdn.example/f"]}'`);
    expect(await ask()).toMatchObject({ by: 'own' });
    expect(await ask({ resolver: false })).toBeUndefined();
    expect(await ask({ url: 'https://other.example/' })).toBeUndefined();
    expect(await ask({ url: 'https://other.example/', resolver: 'own' })).toMatchObject({
      by: 'own',
    });
    await expect(ask({ resolver: 'none' })).rejects.toMatchObject({ code: 'bad-option' });
  });

  test('that is switched off is asked neither by its patterns nor by its name', async () => {
    await set(`echo '{"urls": ["https://cdn.example/f"]}'`, { off: true });
    expect(await ask()).toBeUndefined();
    await expect(ask({ resolver: 'own' })).rejects.toThrow(/switched off/);
  });

  test('is asked before those behind it, in the order that the user gives', async () => {
    await set(`echo '{"urls": ["https://cdn.example/own"]}'`);
    const [own] = await resolvers.list();
    const other = { ...own, name: 'other' };
    await resolvers.set([other, own]);
    expect(await ask()).toMatchObject({ by: 'other' });
    await resolvers.set([{ ...other, off: true }, own]);
    expect(await ask()).toMatchObject({ by: 'own' });
    await expect(resolvers.set([own, own])).rejects.toMatchObject({ code: 'bad-option' });
    const relative = { ...other, args: ['./here'] };
    await expect(resolvers.set([relative])).rejects.toMatchObject({ code: 'bad-option' });
    expect((await resolvers.list()).map(({ name }) => name)).toEqual(['other', 'own']);
  });

  test('that has nothing to say leaves the URL as it is', async () => {
    await set('echo null');
    expect(await ask()).toBeUndefined();
  });

  test('is asked once for a link that is looked at and then added, and again when told so', async () => {
    const runs = join(state, 'runs');
    await set(`echo x >> '${runs}'; echo '{"urls": ["https://cdn.example/f"]}'`);
    await ask();
    await ask();
    expect(readFileSync(runs, 'utf8')).toBe('x\n');
    await ask({ anew: true });
    expect(readFileSync(runs, 'utf8')).toBe('x\nx\n');
  });

  test('sees no secrets in its environment, and no input after the URL', async () => {
    const seen = join(state, 'seen');
    process.env.MILLRACE_USER = 'me:secret';
    await set(`env > '${seen}'; cat >> '${seen}'; echo '{"urls": ["https://cdn.example/f"]}'`);
    await ask();
    const text = readFileSync(seen, 'utf8');
    expect(text).toContain('PATH=');
    expect(text).toContain(`\n${PAGE}\n`);
    expect(text).not.toContain('secret');
  });

  test.each([
    ['prints nothing', 'true', /own: it printed nothing/],
    ['prints no JSON', 'echo hello', /one JSON value/],
    ['prints two answers', 'echo null; echo null', /one JSON value/],
    ['names no links', `echo '{"urls": []}'`, /urls/],
    [
      'has a word that nobody knows',
      `echo '{"urls": ["https://a.example/"], "lenght": 1}'`,
      /lenght/,
    ],
    ['names a file of the disk', `echo '{"urls": ["file:///etc/passwd"]}'`, /http: and https:/],
    ['puts a log-in into a link', `echo '{"urls": ["https://a:b@c.example/"]}'`, /Authorization/],
    [
      'sets a field that is Millrace’s',
      `echo '{"urls": ["https://a.example/"], "headers": {"Range": "x"}}'`,
      /range/,
    ],
    ['fails', 'echo "one"; echo "no such page" >&2; exit 3', /own: no such page/],
    ['is killed', 'kill -9 $$', /SIGKILL/],
  ])('that %s fails with the reason', async (_what, text, why) => {
    await set(text);
    await expect(ask()).rejects.toMatchObject({
      code: 'resolver-failed',
      detail: expect.stringMatching(why),
    });
  });

  test.each([
    [
      'says why there is no file',
      `echo '{"error": "a private\\u001b video"}'`,
      'own: a private  video',
    ],
    ['leads into the own network', `echo '{"urls": ["https://127.0.0.1/f"]}'`, /own network/],
    ['leads to a link without TLS', `echo '{"urls": ["http://cdn.example/f"]}'`, /without TLS/],
  ])('that %s is not followed', async (_what, text, why) => {
    await set(text);
    const detail = typeof why === 'string' ? why : expect.stringMatching(why);
    await expect(ask()).rejects.toMatchObject({ code: 'resolver-refused', detail });
  });

  test('that prints without end is ended', async () => {
    await set('exec cat /dev/zero');
    await expect(ask()).rejects.toMatchObject({
      code: 'resolver-failed',
      detail: expect.stringMatching(/more than 1048576 bytes/),
    });
  });

  test('that hangs is ended with all that it has started', async () => {
    const pid = join(state, 'pid');
    await set(`sleep 1000 & echo $! > '${pid}'; wait`, { seconds: 1 });
    await expect(ask()).rejects.toMatchObject({
      code: 'resolver-failed',
      detail: 'own: it was ended after 1 s',
    });
    await until(() => processState(Number(readFileSync(pid, 'utf8'))) === 'gone');
  });

  test('leaves nothing behind, and does not have to be waited for once it has answered', async () => {
    const pid = join(state, 'pid');
    await set(`sleep 1000 & echo $! > '${pid}'; echo '{"urls": ["https://cdn.example/f"]}'`);
    expect(await ask()).toMatchObject({ by: 'own' });
    await until(() => processState(Number(readFileSync(pid, 'utf8'))) === 'gone');
  });

  test('ends with the daemon, and those that wait do not start', async () => {
    const begun = join(state, 'begun');
    await set(`echo >> '${begun}'; exec sleep 1000`, { patterns: ['*'] });
    const asked = ['a', 'b', 'c'].map((name) =>
      resolvers.ask({ url: `https://${name}.example/` }, signal).catch(({ code }) => code),
    );
    await until(() => existsSync(begun) && readFileSync(begun, 'utf8').length === 2);
    resolvers.close();
    expect(await Promise.all(asked)).toEqual(['interrupted', 'interrupted', 'interrupted']);
    expect(readFileSync(begun, 'utf8')).toBe('\n\n');
  });

  test('that waits for others to end is left at once by who gives up', async () => {
    const begun = join(state, 'begun');
    await set(`echo >> '${begun}'; exec sleep 1000`, { patterns: ['*'] });
    const asked = ['a', 'b'].map((name) =>
      resolvers.ask({ url: `https://${name}.example/` }, signal).catch(({ code }) => code),
    );
    await until(() => existsSync(begun) && readFileSync(begun, 'utf8').length === 2);
    const impatient = new AbortController();
    const third = resolvers.ask({ url: 'https://c.example/' }, impatient.signal);
    impatient.abort();
    await expect(third).rejects.toMatchObject({ code: 'interrupted' });
    resolvers.close();
    expect(await Promise.all(asked)).toEqual(['interrupted', 'interrupted']);
  });

  test('that cannot be started says so', async () => {
    await set('', { args: [join(state, 'missing')] });
    await expect(ask()).rejects.toMatchObject({ detail: expect.stringMatching(/ENOENT/) });
    await set('', { args: ['millrace-no-such-program'] });
    await expect(ask()).rejects.toMatchObject({ detail: expect.stringMatching(/not on PATH/) });
  });
});

describe('yt-dlp', () => {
  test('is found on PATH by its name, gets the link where no other process sees it, and is read', async () => {
    const args = join(state, 'args');
    const info = {
      title: 'A film',
      formats: [
        { url: 'https://v.example/sd', protocol: 'https', ext: 'mp4', height: 360, filesize: 9 },
        { url: 'https://v.example/hd.m3u8', protocol: 'm3u8_native', height: 1080 },
      ],
    };
    script(
      'yt-dlp',
      `echo "$@" > '${args}'; read url; test "$url" = '${PAGE}' || exit 1; echo '${JSON.stringify(info)}'`,
    );
    process.env.PATH = `${state}:${PATH}`;
    expect(await ask()).toBeUndefined();
    expect(await ask({ resolver: 'yt-dlp' })).toMatchObject({
      by: 'yt-dlp',
      answer: { urls: ['https://v.example/sd'], name: 'A film.mp4', length: 9 },
    });
    const words = readFileSync(args, 'utf8');
    expect(words).toContain('--ignore-config --dump-single-json');
    expect(words).not.toContain('page.example');
  });

  test('that fails is quoted', async () => {
    script('yt-dlp', 'echo "ERROR: Unsupported URL" >&2; exit 1');
    process.env.PATH = `${state}:${PATH}`;
    await expect(ask({ resolver: 'yt-dlp' })).rejects.toMatchObject({
      detail: 'yt-dlp: ERROR: Unsupported URL',
    });
  });
});

describe('the list of resolvers', () => {
  test('keeps what was set, replaces one of the same name, and forgets what was removed', async () => {
    await set('echo null');
    await set('echo null', { seconds: 7 });
    expect(await readResolvers(state)).toMatchObject([{ name: 'own', seconds: 7 }]);
    await removeResolver(state, 'own');
    expect(await readResolvers(state)).toEqual([]);
    await expect(removeResolver(state, 'own')).rejects.toMatchObject({ code: 'bad-option' });
  });

  test.each<[string, Partial<Resolver>]>([
    ['a pattern with a blank', { patterns: ['a b'] }],
    ['a program by a relative path', { args: ['./resolver'] }],
    ['no program', { args: [] }],
    ['a name with blanks', { name: 'a b' }],
    ['an hour of time', { seconds: 3600 }],
  ])('refuses %s', async (_what, more) => {
    await expect(set('', more)).rejects.toMatchObject({ code: 'bad-option' });
    expect(await readResolvers(state)).toEqual([]);
  });

  test('is not used if it is damaged, or if others can write to it', async () => {
    await set('echo null');
    chmodSync(resolverFile(state), 0o666);
    await expect(ask()).rejects.toMatchObject({ code: 'state-unusable' });
    chmodSync(resolverFile(state), 0o600);
    writeFileSync(resolverFile(state), '{"resolvers": [{}]}');
    await expect(ask()).rejects.toMatchObject({ code: 'state-unusable' });
  });
});

test('other machines cannot name a resolver', async () => {
  const places = { root: state, others: [] };
  const add = (resolver: unknown) =>
    checkedParams('millrace.add', [{ urls: [PAGE], resolver }], places);
  await expect(add('own')).rejects.toMatchObject({ code: 'not-remote' });
  await expect(add(false)).resolves.toBeDefined();
});
