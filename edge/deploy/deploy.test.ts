/** The files for operators have only settings and values that the edge takes. */

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ERRORS, isErrorCode } from '@millrace/shared/base/errors';
import { parse } from 'yaml';
import { edgeCommand, readConfig } from '../src/config/config.ts';

const read = (path: string) => readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8');

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  for (const name of ['secret', 'token', 'network']) {
    writeFileSync(join(folder, name), 'a secret that is long enough');
  }
  writeFileSync(join(folder, 'edge.yaml'), 'allow-origin: downloads.example.com\n');
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('systemd unit', () => {
  const unit = read('systemd/millrace-edge.service');
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';
  const options = () =>
    value('ExecStart')
      .split(' ')
      .slice(2)
      .map((word) =>
        word
          .replace(/^\$\{(CREDENTIALS_DIRECTORY|CACHE_DIRECTORY)\}/, folder)
          .replace('/etc/millrace', folder),
      );

  test('starts an edge by itself with options that it takes, and no secret', () => {
    const config = readConfig(options(), {});
    expect(config.allowOrigin).toEqual(['downloads.example.com']);
    expect(config.cacheDir).toBe(folder);
    expect(config.secretFile).toBeUndefined();
    expect(unit).not.toMatch(/^LoadCredential/m);
  });

  test.each([
    ['network', 'secretFile'],
    ['admin', 'adminTokenFile'],
  ] as const)('%s.conf beside it gives a secret', (name, setting) => {
    const text = read(`systemd/millrace-edge.service.d/${name}.conf`);
    const [, credential] = /^LoadCredential=(\w+):\/etc\/millrace\/\w+$/m.exec(text) ?? [];
    const [, variable = '', file] = /^Environment=(\w+)=%d\/(\w+)$/m.exec(text) ?? [];
    expect(file).toBe(credential);
    expect(readConfig(options(), { [variable]: join(folder, `${file}`) })[setting]).toBeDefined();
  });

  test('does not kill before the time for transfers is over', () => {
    const { grace } = readConfig(options(), {});
    expect(Number.parseInt(value('TimeoutStopSec'), 10) * 1000).toBeGreaterThan(grace);
  });
});

test('the example of edge.yaml has settings that an edge takes, those in comments too', () => {
  const text = read('edge.yaml');
  const config = (lines: string) => {
    const file = join(folder, 'example.yaml');
    writeFileSync(file, lines);
    return readConfig(['--config', file], {});
  };
  expect(config(text)).toMatchObject({ host: '0.0.0.0', allowOrigin: ['downloads.example.com'] });
  // Files of the example do not exist here.
  const all = text.replace(/^# (?=[a-z-]+: )/gm, '').replace(/^tls-.*$/gm, '');
  expect(
    config(`${all}\nsecret-file: ${join(folder, 'secret')}\ncache-dir: ${folder}\n`),
  ).toMatchObject({
    workers: 4,
    name: 'edge-1',
    publicUrl: 'https://edge.example.net',
  });
});

/** A service of the compose file. */
interface Service {
  readonly environment?: Record<string, string>;
  readonly stop_grace_period?: string;
  readonly ports?: readonly string[];
}
const { services: compose } = parse(read('compose/compose.yaml'), { merge: true }) as {
  services: Record<string, Service>;
};

describe('compose file', () => {
  const edges = Object.entries(compose).filter(([name]) => name.startsWith('edge-'));

  test.each(edges)('%s has settings that an edge takes', (name, service) => {
    const env = Object.fromEntries(
      Object.entries(service.environment ?? {}).map(([key, value]) => [
        key,
        value.replace(/\$\{.*\}/, 'downloads.example.com').replace('/run/secrets', folder),
      ]),
    );
    const config = readConfig([], env);
    expect(config.name).toBe(name);
    expect(Number.parseInt(service.stop_grace_period ?? '', 10) * 1000).toBeGreaterThan(
      config.grace,
    );
  });

  test('publishes all ports on loopback only, as it says', () => {
    for (const { ports = [] } of Object.values(compose)) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
  });

  test('has four of them, which find each other by one name', () => {
    expect(edges).toHaveLength(4);
    const names = edges.map(([, { environment }]) => environment?.MILLRACE_EDGE_PEERS);
    expect(new Set(names)).toEqual(new Set(['edges:3125']));
  });
});

describe('compose file for a zone', () => {
  interface ZoneService extends Service {
    readonly environment: Record<string, string>;
    readonly stop_grace_period: string;
  }
  const { services } = parse(read('compose/zone.yaml'), { merge: true }) as {
    services: Record<string, ZoneService>;
  };
  const settings = ({ environment }: ZoneService) => {
    const given: Record<string, string> = {
      MILLRACE_DNS_ZONE: 'cdn.example.net',
      MILLRACE_DNS_SERVER: 'ns1.example.net,ns2.example.net',
    };
    const values = Object.entries(environment).map(([key, value]) => [
      key,
      value.replace(/\$\{(\w+):[-?](.*)\}/, (_, name, other) => given[name] ?? other),
    ]);
    return readConfig(['--allow-origin', 'downloads.example.com'], Object.fromEntries(values));
  };

  test('has settings that an edge takes, and does not kill an edge before its time is over', () => {
    expect(Object.keys(services).sort()).toEqual(['edge-1', 'edge-2', 'edge-3', 'edge-4']);
    const ofAll = compose['edge-1']?.environment?.MILLRACE_EDGE_GRACE ?? '';
    const { grace } = readConfig(['--grace', ofAll], {});
    for (const service of Object.values(services)) {
      const { leaveTime, publicAddress } = settings(service);
      expect(publicAddress).toEqual(['127.0.0.1']);
      // The longest time for which resolvers may keep an answer.
      expect(leaveTime).toBeGreaterThan(30_000);
      const stopMs = Number.parseInt(service.stop_grace_period, 10) * 1000;
      expect(stopMs).toBeGreaterThan(leaveTime + grace);
    }
  });

  test('publishes the port of the zone for UDP and TCP', () => {
    const [server] = Object.values(services) as [ZoneService];
    const { dns } = settings(server);
    expect(dns?.zone.servers.map(({ name }) => name.join('.'))).toEqual([
      ...['ns1.example.net', 'ns2.example.net'],
    ]);
    expect(server.ports?.map((text) => /:(\d+\/\w+)$/.exec(text)?.[1])).toEqual([
      ...[`${dns?.port}/udp`, `${dns?.port}/tcp`],
    ]);
  });
});

test('the image begins with settings that an edge takes', () => {
  const text = read('Dockerfile').replace(/\\\n\s*/g, '');
  const pairs = [...text.matchAll(/(MILLRACE_EDGE_\w+)=(\S+)/g)].filter(
    ([whole]) => !text.includes(`# ${whole}`),
  );
  const env = Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, value]));
  expect(readConfig([], env)).toMatchObject({ host: '0.0.0.0', port: 3125 });
});

describe('the guide for operators', () => {
  const guide = read('../OPERATING.md');

  test('names only options that exist', () => {
    const known = new Set(edgeCommand().options.map(({ long }) => long));
    // Options of docker run, helm install, pnpm install, rclone, millrace edge allocations and downloads.
    const others = new Set([
      ...['--read-only', '--cap-drop', '--set', '--yes', '--frozen-lockfile', '--prod', '--filter'],
      ...['--id', '--sha256', '--owner', '--delete', '--block', '--unblock'],
      ...['--by', '--csv', '--auth-key', '--addr', '--etag-hash', '--network'],
    ]);
    const named = new Set(guide.match(/(?<![\w-])--[a-z][a-z0-9-]+/g));
    expect([...named].filter((name) => !known.has(name) && !others.has(name))).toEqual([]);
    expect(named.size).toBeGreaterThan(20);
  });

  test('says what to do about each alert', () => {
    const { groups } = parse(read('prometheus/alerts.yml')) as {
      groups: { rules: { alert: string }[] }[];
    };
    const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)).sort();
    const told = [...guide.matchAll(/^\| `(Millrace\w+)` \|/gm)].map(([, name]) => name).sort();
    expect(told).toEqual(alerts);
  });

  test('the chart has the same alerts', () => {
    expect(read('helm/millrace-edge/files/alerts.yml')).toBe(read('prometheus/alerts.yml'));
  });

  test('explains only error codes that exist', () => {
    const table = guide.slice(guide.indexOf('| code |'));
    const codes = [...table.matchAll(/^\| (`.*?`) \|/gm)].flatMap(
      ([, cell = '']) => cell.match(/[a-z-]+/g) ?? [],
    );
    expect(codes.length).toBeGreaterThan(15);
    expect(codes.filter((code) => !isErrorCode(code))).toEqual([]);
  });

  test('says what to look at for each error that a client cannot mend', () => {
    // Errors of the command line and the daemon, or by the wish of a client.
    const others =
      /^(daemon-.*|remote-.*|not-paired|not-remote|state-.*|proxy-.*|different-file|resolver-.*|rest-missing|file-lost|copies-lost|version-unproven|not-cached|checksum-mismatch|bad-signature|origin-refused|origin-unknown|network-away|source-refused)$/;
    const operators = Object.entries(ERRORS).filter(
      ([code, { status }]) =>
        ([401, 403, 429].includes(status) || status >= 500) && !others.test(code),
    );
    const missing = operators.filter(([code]) => !guide.includes(`\`${code}\``));
    expect(missing.map(([code]) => code)).toEqual([]);
  });

  test('links only to files that exist', () => {
    const links = [...guide.matchAll(/\]\(([^)#]+)\)/g)].map(([, path = '']) => path);
    for (const link of links.filter((path) => !path.startsWith('https://'))) {
      expect(() => statSync(new URL(`../${link}`, import.meta.url))).not.toThrow();
    }
    expect(links.length).toBeGreaterThan(4);
  });
});
