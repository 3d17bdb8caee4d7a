import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { formatProxy } from './proxy-settings.ts';
import { readSystem } from './read-system.ts';
import { SystemProxy } from './system-proxy.ts';
import type { SystemSettings } from './system-settings.ts';

const ends: (() => unknown)[] = [];
let folder = '';
let now = 0;
/** The system's settings, which tests change. */
let settings: SystemSettings | Error;
let reads = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  now = 0;
  reads = 0;
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await rm(folder, { recursive: true });
});

function systemProxy(): SystemProxy {
  const made = new SystemProxy({
    source: 'gnome',
    env: {},
    now: () => now,
    read: async () => {
      reads++;
      if (settings instanceof Error) throw settings;
      return settings;
    },
  });
  ends.push(() => made.close());
  return made;
}

async function ways(of: SystemProxy, url = 'http://x.test/'): Promise<string[]> {
  const found = await of.ways(new URL(url));
  return found.map((way) => (way === undefined ? 'direct' : formatProxy(way)));
}

/** Returns the error of a request that must not go past the proxy. */
async function refusal(of: SystemProxy, url?: string): Promise<string> {
  const error = await ways(of, url).then(
    (found) => new Error(`goes by ${found}`),
    (failure: Error) => failure,
  );
  expect(error).toMatchObject({ code: 'proxy-failed' });
  return error.message;
}

async function scriptFile(text: string): Promise<string> {
  const path = join(folder, 'proxy.pac');
  await writeFile(path, text);
  return pathToFileURL(path).href;
}

async function scriptServer(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/proxy.pac`;
}

const always = (answer: string) => `function FindProxyForURL() { return '${answer}'; }`;

test('a change of the settings is noticed, and they are not read for every request', async () => {
  settings = { way: 'servers', servers: { all: 'http://a.test:1' } };
  const system = systemProxy();
  expect(await ways(system)).toEqual(['http://a.test:1']);
  expect(await ways(system, 'https://y.test/')).toEqual(['http://a.test:1']);
  expect(reads).toBe(1);
  settings = { way: 'servers', servers: { all: 'http://b.test:1' } };
  now += 10_000;
  expect(await ways(system)).toEqual(['http://b.test:1']);
  settings = { way: 'direct' };
  now += 10_000;
  expect(await ways(system)).toEqual(['direct']);
});

test('a machine without a program for the settings names no proxy, and the state says why', async () => {
  settings = Object.assign(new Error('gsettings is missing'), { code: 'ENOENT' });
  const system = systemProxy();
  expect(await ways(system)).toEqual(['direct']);
  expect(await system.state()).toMatchObject({ way: 'direct', problem: 'gsettings is missing' });
});

test('requests do not go past a proxy that cannot be used, except to this machine', async () => {
  settings = { way: 'servers', servers: { all: 'gopher://tom:secret@a.test:1' } };
  const system = systemProxy();
  expect(await refusal(system)).toMatch(/nothing is sent past it/);
  expect(await ways(system, 'http://127.0.0.1/')).toEqual(['direct']);
  const { way, problem } = await system.state();
  expect(way).toBe('servers');
  expect(problem).toMatch(/proxy in the system’s settings/);
  expect(problem).not.toMatch(/secret/);
});

test('settings that cannot be read for once are those of before; unknown ones lead nowhere', async () => {
  settings = new Error('no answer in time');
  const system = systemProxy();
  expect(await refusal(system)).toMatch(/no answer in time/);
  expect(await system.state()).toMatchObject({ way: 'servers', problem: 'no answer in time' });
  settings = { way: 'servers', servers: { all: 'http://a.test:1' } };
  now += 10_000;
  expect(await ways(system)).toEqual(['http://a.test:1']);
  settings = new Error('no answer in time');
  now += 10_000;
  expect(await ways(system)).toEqual(['http://a.test:1']);
});

test('the state shows no log-in', async () => {
  settings = { way: 'servers', servers: { all: 'http://tom:secret@a.test:1' } };
  expect(await systemProxy().state()).toEqual({
    source: 'gnome',
    way: 'servers',
    servers: ['http://a.test:1'],
  });
});

test('a script names several ways, and one that failed comes last for a minute', async () => {
  settings = { way: 'script', script: await scriptFile(always('PROXY a:1; PROXY b:2; DIRECT')) };
  const system = systemProxy();
  expect(await ways(system)).toEqual(['http://a:1', 'http://b:2', 'direct']);
  expect(await ways(system, 'http://127.0.0.1:8080/')).toEqual(['direct']);
  const [first] = await system.ways(new URL('http://x.test/'));
  if (first === undefined) throw new Error('a way without a proxy');
  system.failed(first);
  expect(await ways(system)).toEqual(['http://b:2', 'direct', 'http://a:1']);
  now += 60_001;
  expect(await ways(system)).toEqual(['http://a:1', 'http://b:2', 'direct']);
});

test('a script is fetched by HTTP, and again after five minutes or when its address changes', async () => {
  let text = always('PROXY first:1');
  const asked: (string | undefined)[] = [];
  const script = await scriptServer(({ url }, answer) => {
    asked.push(url);
    answer.end(text);
  });
  settings = { way: 'script', script };
  const system = systemProxy();
  expect(await ways(system)).toEqual(['http://first:1']);
  text = always('PROXY second:1');
  expect(await ways(system)).toEqual(['http://first:1']);
  now += 5 * 60_000;
  expect(await ways(system)).toEqual(['http://second:1']);
  expect(asked).toHaveLength(2);
  settings = { way: 'script', script: `${script}?other` };
  now += 10_000;
  text = always('PROXY third:1');
  expect(await ways(system)).toEqual(['http://third:1']);
  expect(await system.state()).toEqual({
    source: 'gnome',
    way: 'script',
    servers: [],
    script: `${script}?other`,
    problem: undefined,
  });
});

test.each([
  ['is not there', 'file:///nowhere/proxy.pac', /ENOENT/],
  ['has an address of another kind', 'ftp://x.test/proxy.pac', /ftp: is not understood/],
  ['has no address', 'nonsense', /URL/i],
])('requests do not go past a script that %s', async (_what, script, why) => {
  settings = { way: 'script', script };
  const system = systemProxy();
  expect(await refusal(system)).toMatch(why);
  expect((await system.state()).problem).toMatch(why);
  expect(await ways(system, 'http://127.0.0.1/')).toEqual(['direct']);
});

test('requests do not go past a script of endless length, or behind an error', async () => {
  settings = {
    way: 'script',
    script: await scriptServer((_asked, answer) => {
      const more = () => {
        while (answer.write('x'.repeat(65_536)));
        answer.once('drain', more);
      };
      more();
    }),
  };
  const system = systemProxy();
  await refusal(system);
  expect((await system.state()).problem).toBe('it is too long');
  settings = {
    way: 'script',
    script: await scriptServer((_asked, answer) => answer.writeHead(404).end()),
  };
  now += 10_000;
  await refusal(system);
  expect((await system.state()).problem).toBe('its server answers 404');
});

test('a script that fails is asked again after half a minute, and holds nothing up before', async () => {
  settings = { way: 'script', script: await scriptFile('function FindProxyForURL() { throw 1; }') };
  const system = systemProxy();
  await refusal(system);
  expect((await system.state()).problem).toBeDefined();
  await scriptFile(always('PROXY mended:1'));
  await refusal(system);
  now += 30_000;
  expect(await ways(system)).toEqual(['http://mended:1']);
  expect((await system.state()).problem).toBeUndefined();
});

test('a script that cannot be fetched again decides as before, until it can be', async () => {
  let status = 200;
  const script = await scriptServer((_asked, answer) =>
    answer.writeHead(status).end(always(status === 200 ? 'PROXY new:1' : 'DIRECT')),
  );
  settings = { way: 'script', script };
  const system = systemProxy();
  expect(await ways(system)).toEqual(['http://new:1']);
  status = 502;
  now += 5 * 60_000;
  expect(await Promise.all([ways(system), ways(system, 'http://y.test/')])).toEqual([
    ['http://new:1'],
    ['http://new:1'],
  ]);
  status = 200;
  now += 30_000;
  expect(await ways(system)).toEqual(['http://new:1']);
  // Another script at another address has nothing to do with this one.
  settings = { way: 'script', script: `${script}?other` };
  status = 502;
  now += 10_000;
  await refusal(system);
});

test('KDE’s file is read with that of the machine below it', async () => {
  const own = join(folder, 'own');
  await mkdir(own);
  const env = { XDG_CONFIG_HOME: own, XDG_CONFIG_DIRS: `${folder}:/nowhere` };
  expect(await readSystem('kde', env)).toEqual({ way: 'direct' });
  await writeFile(
    join(folder, 'kioslaverc'),
    '[Proxy Settings]\nProxyType=1\nhttpProxy=http://machine.test 1\n',
  );
  expect(await readSystem('kde', env)).toMatchObject({
    servers: { http: 'http://machine.test:1' },
  });
  await writeFile(join(own, 'kioslaverc'), '[Proxy Settings]\nProxyType=0\n');
  expect(await readSystem('kde', env)).toEqual({ way: 'direct' });
});

const hasGnome = /org\.gnome\.system\.proxy/.test(
  spawnSync('gsettings', ['list-schemas'], { encoding: 'utf8' }).stdout ?? '',
);

(hasGnome ? test : test.skip)('GNOME’s own program tells its settings', async () => {
  const env = { PATH: process.env.PATH, GSETTINGS_BACKEND: 'keyfile', XDG_CONFIG_HOME: folder };
  const set = (schema: string, key: string, value: string) =>
    execFileSync('gsettings', ['set', `org.gnome.system.proxy${schema}`, key, value], { env });
  expect(await readSystem('gnome', env)).toEqual({ way: 'direct' });
  set('', 'mode', 'manual');
  set('', 'ignore-hosts', "['*.corp.test']");
  set('.http', 'host', 'proxy.test');
  set('.http', 'port', '3128');
  expect(await readSystem('gnome', env)).toEqual({
    way: 'servers',
    servers: { http: 'http://proxy.test:3128', https: undefined, all: undefined },
    exempt: '*.corp.test',
  });
  set('', 'mode', 'auto');
  set('', 'autoconfig-url', 'http://wpad.test/p.pac');
  expect(await readSystem('gnome', env)).toEqual({
    way: 'script',
    script: 'http://wpad.test/p.pac',
  });
});
