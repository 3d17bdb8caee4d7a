import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { edgeCommand, readConfig, Stop } from './config.ts';
import { SETTINGS } from './settings.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
let dir = '';
let files = 0;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-'));
});
afterAll(() => rm(dir, { recursive: true }));

async function file(content: string): Promise<string> {
  const path = join(dir, `${files++}.yaml`);
  await writeFile(path, content);
  return path;
}

/** Returns the text and exit status that the program stops with. */
function stopped(argv: string[], env: Record<string, string> = {}): [string, number] {
  try {
    readConfig(argv, env);
  } catch (error) {
    if (error instanceof Stop) return [error.message, error.exitCode];
    throw error;
  }
  throw new Error('it did not stop');
}

describe('settings', () => {
  test('have defaults that are safe', () => {
    expect(readConfig([], {})).toMatchObject({
      host: '127.0.0.1',
      port: 3125,
      name: `${hostname()}:3125`.replace(/[^A-Za-z0-9._:-]/g, '-'),
      allowOrigin: [],
      defaultScheme: 'https',
      cacheMemory: 256 * MiB,
      cacheDir: undefined,
      cacheDisk: 10 * 1024 * MiB,
      chunkSize: 512 * KiB,
      originConnections: 32,
      originTimeout: 30_000,
      clientTransfers: 256,
      clientRequests: 200,
      clientRate: 0,
      clientOrigins: 30,
      maxConnections: 20_000,
      grace: 10_000,
      logLevel: 'info',
      localTokenFile: undefined,
    });
  });

  test('peers are a list, however it is written', () => {
    const seed = (host: string, port = 3125) => ({ scheme: 'http', host, port });
    const expected = [seed('10.0.0.1'), seed('edges.example.net', 4000)];
    const asFlags = ['--peers', '10.0.0.1', '--peers', 'edges.example.net:4000'];
    expect(readConfig(asFlags, {}).peers).toEqual(expected);
    expect(readConfig(['--peers', '10.0.0.1, edges.example.net:4000'], {}).peers).toEqual(expected);
    const variable = { MILLRACE_EDGE_PEERS: '10.0.0.1,edges.example.net:4000' };
    expect(readConfig([], variable).peers).toEqual(expected);
    expect(stopped(['--peers', '10.0.0.1,http://x/y'])[0]).toMatch(
      /"http:\/\/x\/y" is not an edge/,
    );
  });

  test('presets are named on the command line or in the file, and listed by --help', async () => {
    expect(readConfig([], {}).preset).toEqual([]);
    expect(readConfig(['--preset', 'debian', '--preset', 'pypi'], {}).preset).toEqual([
      'debian',
      'pypi',
    ]);
    const path = await file('preset: [github, go]\n');
    expect(readConfig(['--config', path], {}).preset).toEqual(['github', 'go']);
    expect(stopped(['--preset', 'debain'])[0]).toMatch(/--preset: must be one of debian, ubuntu/);
    expect(stopped(['--help'])[0]).toMatch(/Presets:\n {2}debian {7}packages and images of Debian/);
  });

  test('files of the policy are read at the start, and named if they cannot be used', async () => {
    const rules = await file('{"origins": [{"origin": "a.example"}]}');
    const secrets = await file('a secret of publishers');
    const given = readConfig(['--rules-file', rules, '--link-secret-file', secrets], {});
    expect(given).toMatchObject({ rulesFile: rules, linkSecretFile: secrets });
    const broken = await file('{"origins": [{"origin": "ftp://a"}]}');
    expect(stopped(['--rules-file', broken])[0]).toMatch(
      /--rules-file: "ftp:\/\/a" is not an origin/,
    );
    expect(stopped(['--link-secret-file', await file('short')])[0]).toMatch(
      /at least 16 characters/,
    );
  });

  test('the organisation and the policy for peers may name any organisation', () => {
    const { org, peerPolicy } = readConfig(
      ['--org', 'acme.example', '--peer-policy', 'org:acme.example'],
      {},
    );
    expect([org, peerPolicy]).toEqual(['acme.example', 'org:acme.example']);
  });

  test('a site has a plain name', () => {
    expect(readConfig(['--site', 'fra-1'], {}).site).toBe('fra-1');
    expect(readConfig([], {}).site).toBeUndefined();
    expect(stopped(['--site', 'fra 1'])[0]).toMatch(/letters, digits/);
  });

  test('trusted proxies are networks', () => {
    expect(readConfig([], {})).toMatchObject({ trustedProxy: [], proxyField: 'x-forwarded-for' });
    const { trustedProxy } = readConfig(['--trusted-proxy', '10.0.0.0/8'], {});
    expect(trustedProxy.map(([network, bits]) => `${network}/${bits}`)).toEqual(['10.0.0.0/8']);
    expect(stopped(['--trusted-proxy', '10.0.0.0/99'])[0]).toMatch(/is not a network/);
    expect(stopped(['--proxy-field', 'via'])[0]).toMatch(/must be x-forwarded-for or forwarded/);
  });

  test('secrets are read from files, and must be long enough', async () => {
    const secret = await file('0123456789abcdef\n');
    expect(readConfig(['--secret-file', secret], {}).secretFile?.toString()).toBe(
      '0123456789abcdef',
    );
    expect(stopped(['--secret-file', await file('short')])[0]).toMatch(/at least 16 characters/);
    expect(stopped(['--secret-file', join(dir, 'none')])[0]).toMatch(/cannot be read/);
  });

  test.each([
    ['--public-url', 'edge.example.org'],
    ['--public-url', 'https://edge.example.org/path'],
    ['--peer-policy', 'shut'],
    ['--weight', '0'],
    ['--max-hops', '9'],
    ['--workers', '0'],
  ])('%s %s is refused, with the reason', (option, value) => {
    const [message, code] = stopped([option, value]);
    expect(code).toBe(2);
    expect(message).toContain(option);
  });

  test('are read in the units that people use', () => {
    const config = readConfig(
      [
        ...['--cache-memory', '1.5GiB', '--chunk-size=64KiB', '--origin-timeout', '500ms'],
        ...['--client-rate', '10MiB/s', '--grace', '1m', '--port', '0', '--cache-disk', '10GB'],
      ],
      {},
    );
    expect(config).toMatchObject({
      cacheMemory: 1536 * MiB,
      chunkSize: 64 * KiB,
      originTimeout: 500,
      clientRate: 10 * MiB,
      grace: 60_000,
      port: 0,
      cacheDisk: 10_000_000_000,
    });
  });

  test('flags win over environment, environment over file, file over default', async () => {
    const path = await file('port: 1001\nhost: file\ncache-dir: file\n');
    const env = { MILLRACE_EDGE_PORT: '1002', MILLRACE_EDGE_HOST: 'env' };
    const argv = ['--config', path, '--port', '1003'];
    const { port, host, cacheDir, logLevel } = readConfig(argv, env);
    expect([port, host, cacheDir, logLevel]).toEqual([1003, 'env', 'file', 'info']);
  });

  test('the file may be named in the environment, or by a flag that wins', async () => {
    const env = { MILLRACE_EDGE_CONFIG: await file('port: 1') };
    expect(readConfig([], env).port).toBe(1);
    expect(readConfig(['--config', await file('port: 2')], env).port).toBe(2);
  });

  test('origins may be given several times, as a list, or separated by commas', async () => {
    const origins = ['a.example', '*.b.example'];
    const flags = origins.flatMap((origin) => ['--allow-origin', origin]);
    expect(readConfig(flags, {}).allowOrigin).toEqual(origins);
    const env = { MILLRACE_EDGE_ALLOW_ORIGIN: 'a.example, *.b.example' };
    expect(readConfig([], env).allowOrigin).toEqual(origins);
    const path = await file('allow-origin:\n  - a.example\n  - "*.b.example"\n');
    expect(readConfig(['--config', path], {}).allowOrigin).toEqual(origins);
    const single = await file('allow-origin: a.example');
    expect(readConfig(['--config', single], {}).allowOrigin).toEqual(['a.example']);
  });

  test('the file may be JSON, have plain numbers, or be empty', async () => {
    const json = await file('{"port": 8080, "cache-memory": 1048576, "client-rate": 0}');
    const { port, cacheMemory, clientRate } = readConfig(['--config', json], {});
    expect([port, cacheMemory, clientRate]).toEqual([8080, MiB, 0]);
    expect(readConfig(['--config', await file('# nothing\n')], {}).port).toBe(3125);
  });

  test('the name follows from host and port, without letters that a name may not have', () => {
    expect(readConfig(['--port', '8080'], {}).name).toMatch(/^[A-Za-z0-9][A-Za-z0-9._:-]*:8080$/);
    expect(readConfig(['--name', 'edge-1'], {}).name).toBe('edge-1');
  });

  test.each([
    [['--port', '65536'], '--port: must be at most 65535 (given: "65536")'],
    [['--port', '-1'], '--port: must not be negative (given: "-1")'],
    [['--port', '80.5'], '--port: must be a whole number (given: "80.5")'],
    [['--port', 'http'], '--port: '],
    [['--host', ''], '--host: '],
    [['--name', 'my edge'], '--name: may have letters, digits, . _ : - (given: "my edge")'],
    [['--name', '-x'], '--name: may have'],
    [['--default-scheme', 'ftp'], '--default-scheme: must be http or https (given: "ftp")'],
    [['--log-level', 'loud'], '--log-level: must be a log level (given: "loud")'],
    [['--origin-connections', '0'], '--origin-connections: must be at least 1'],
    [['--origin-connections', '1025'], '--origin-connections: must be at most 1024'],
    [['--max-connections', '0'], '--max-connections: must be at least 1'],
    [['--cache-memory', 'much'], '--cache-memory: "much" is not a size such as 64K'],
    [['--chunk-size', '100KiB'], '--chunk-size: must be a power of two from 64KiB to 16MiB'],
    [['--chunk-size', '32KiB'], '--chunk-size: must be a power of two'],
    [['--chunk-size', 'x'], '--chunk-size: "x" is not a size'],
    [['--origin-timeout', '1w'], '--origin-timeout: "1w" is not a duration such as 500ms'],
    [['--client-rate', '-1'], '--client-rate: "-1" is not a size'],
    [
      ['--allow-origin', 'a.example', '--allow-origin', '*b.example'],
      '--allow-origin: "*b.example" is not an origin such as *.example.com',
    ],
  ])('%j stops the program with the reason', (argv, message) => {
    const [text, exitCode] = stopped(argv);
    expect(text).toContain(message);
    expect(exitCode).toBe(2);
  });

  test('a bad value is reported by the name it was given under', async () => {
    expect(stopped([], { MILLRACE_EDGE_PORT: 'x' })[0]).toMatch(/^MILLRACE_EDGE_PORT: /);
    expect(stopped(['--config', await file('port: x')])[0]).toMatch(/^port in the file: /);
    expect(stopped(['--config', await file('host: 5')])[0]).toMatch(/^host in the file: /);
  });

  test.each<[string[], Record<string, string>, string]>([
    [['--prot', '1'], {}, "unknown option '--prot'"],
    [['--cache-memry', '1'], {}, 'Did you mean --cache-memory?'],
    [['--port'], {}, 'argument missing'],
    [['extra'], {}, 'too many arguments'],
    [[], { MILLRACE_EDGE_CACHE_MEMRY: '1' }, 'Did you mean MILLRACE_EDGE_CACHE_MEMORY?'],
    [[], { MILLRACE_EDGE_: '1' }, 'Unknown environment variable: MILLRACE_EDGE_'],
    [[], { MILLRACE_EDGE_port: '1' }, 'Unknown environment variable: MILLRACE_EDGE_port'],
  ])('%j with %j is not known', (argv, env, message) => {
    const [text, exitCode] = stopped(argv, env);
    expect(text).toContain(message);
    expect(exitCode).toBe(2);
  });

  test.each([
    ['prot: 1', ': prot'],
    ['cacheMemory: 1', 'Did you mean cache-memory?'],
    ['cache_memory: 1', 'Did you mean cache-memory?'],
    ['config: x', ': config'],
    ['constructor: 1', ': constructor'],
    ['- port', 'must hold names and values'],
    ['just text', 'must hold names and values'],
    ['port: [', 'cannot be read'],
  ])('the file %j is refused', async (content, message) => {
    const path = await file(content);
    const [text, exitCode] = stopped(['--config', path]);
    expect(text).toContain(message);
    expect(text).toContain(path);
    expect(exitCode).toBe(2);
  });

  test('a file that is not there stops the program', () => {
    const path = join(dir, 'missing.yaml');
    expect(stopped(['--config', path])[0]).toContain(`${path} cannot be read`);
    expect(stopped([], { MILLRACE_EDGE_CONFIG: path })[1]).toBe(2);
  });

  test('variables of other programs are ignored', () => {
    expect(readConfig([], { PORT: 'x', MILLRACE_EDGE: 'x', MILLRACE_STATE: 'x' }).port).toBe(3125);
  });

  test('help names every setting, with its default', () => {
    const [help, exitCode] = stopped(['--help']);
    expect(exitCode).toBe(0);
    const text = help.replace(/\s+/g, ' ');
    for (const [name, setting] of Object.entries(SETTINGS)) {
      const about = text.slice(text.indexOf(`--${name} ${setting.argument} `));
      expect(about).toContain(setting.help);
      if (setting.default === undefined) continue;
      expect(about.indexOf('(default: ')).toBe(about.indexOf(`(default: ${setting.default})`));
    }
    expect(stopped(['-h'])).toEqual([help, 0]);
    expect(help).toContain(edgeCommand().description());
  });

  test('the version is printed on request', () => {
    expect(stopped(['--version'])).toEqual([expect.stringMatching(/^\d+\.\d+\.\d+\n$/), 0]);
  });
});
