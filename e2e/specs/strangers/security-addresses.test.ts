/**
 * Attacks on the operator's network: private addresses in every notation, and forged client
 * addresses.
 */

import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { EchoOrigin } from '../../fixtures/origins/echo-origin.ts';
import { EDGE } from '../../fixtures/programs/main-files.ts';
import { Namespace, namespacesOrComplain } from '../../fixtures/programs/namespace.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const withNamespaces = testsWhere(namespacesOrComplain('public addresses of the edge itself'));

const origin = await EchoOrigin.start();
const { port } = origin;
const edge = await EdgeProcess.start([
  // Any public origin, and one private path, whose redirects must reach no other private address.
  ...['--allow-origin', '*', '--allow-origin', `127.0.0.1:${port}/redirect`],
]);

afterEach(() => {
  origin.targets.length = 0;
});
afterAll(async () => {
  await edge.stop('SIGKILL');
  await origin.stop();
});

async function code(target: string): Promise<string> {
  const got = await fetchAll(`${edge.url}/${target}`);
  return got.status < 400 ? 'ok' : (JSON.parse(got.body.toString()) as { code: string }).code;
}

const notations: [string, string][] = [
  ['octal', '0177.0.0.1'],
  ['octal, long', '00000177.0.0.01'],
  ['octal, one number', '017700000001'],
  ['hexadecimal', '0x7F.0x0.0x0.0x1'],
  ['hexadecimal, one number', '0x7f000001'],
  ['decimal, one number', '2130706433'],
  ['mixed', '0x7f.0.01'],
  ['two parts', '127.1'],
  ['three parts', '127.0.1'],
  ['with a dot at the end', '127.0.0.1.'],
  ['percent-encoded', '%31%32%37.0.0.1'],
  ['percent-encoded dots', '127%2e0%2e0%2e1'],
  ['full-width digits', encodeURI('１２７.０.０.１')],
  ['circled digits', encodeURI('①②⑦.⓪.⓪.①')],
  ['ideographic full stops', encodeURI('127。0。0。1')],
  ['the last of the network', '127.255.255.254'],
  ['no address', '0.0.0.0'],
  ['no address, one number', '0'],
  ['IPv6', '[::1]'],
  ['IPv6, long', '[0000:0000:0000:0000:0000:0000:0000:0001]'],
  ['no IPv6 address', '[::]'],
  ['IPv4 mapped', '[::ffff:127.0.0.1]'],
  ['IPv4 mapped, hexadecimal', '[::FFFF:7F00:1]'],
  ['IPv4 mapped, long', '[0:0:0:0:0:ffff:127.0.0.1]'],
  ['IPv4 compatible', '[::127.0.0.1]'],
  ['IPv4 translated', '[::ffff:0:127.0.0.1]'],
  ['NAT64', '[64:ff9b::127.0.0.1]'],
  ['local NAT64', '[64:ff9b:1::127.0.0.1]'],
  ['6to4', '[2002:7f00:1::1]'],
  ['Teredo', '[2001:0:7f00:1::1]'],
  ['unique local', '[fd12:3456::1]'],
  ['link-local', '[fe80::1]'],
  ['site-local', '[fec0::1]'],
  ['a name', 'localhost'],
  ['a name in capitals', 'LOCALHOST'],
  ['a name with a dot', 'localhost.'],
];
const elsewhere = [
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '169.254.169.254',
  '100.64.0.1',
  '[fd00:ec2::254]',
  '168.63.129.16',
  '[::ffff:168.63.129.16]',
  '[64:ff9b::a83f:8110]',
  'metadata.google.internal',
  '255.255.255.255',
  '224.0.0.1',
  '198.18.0.1',
  '192.0.2.1',
];

describe('private addresses', () => {
  test.each(notations)('%s: %s is not connected to', async (_, host) => {
    expect(await code(`http://${host}:${port}/file`)).toBe('private-address');
    expect(origin.targets).toEqual([]);
  });

  test.each(elsewhere)('%s is not connected to', async (host) => {
    expect(await code(`http://${host}/file`)).toBe('private-address');
  });

  test.each(notations)('a redirect to %s: %s is not followed', async (_, host) => {
    const to = encodeURIComponent(`http://${host}:${port}/file`);
    const got = await code(`http://127.0.0.1:${port}/redirect?to=${to}`);
    // An odd spelling counts as the address that it denotes.
    expect(got).toBe('private-address');
    expect(origin.targets).toEqual([`/redirect?to=${to}`]);
  });

  test.each([
    '//localhost/file',
    `//[::1]:${port}/file`,
    `\\\\localhost:${port}\\file`,
    `http:\\\\localhost:${port}/file`,
    `http:localhost:${port}/file`,
    'file:///etc/passwd',
    'gopher://127.0.0.1/x',
  ])('a redirect to %s is not followed', async (location) => {
    const target = `/redirect?to=${encodeURIComponent(location)}`;
    expect(await code(`http://127.0.0.1:${port}${target}`)).not.toBe('ok');
    expect(origin.targets.filter((asked) => asked !== target)).toEqual([]);
  });
});

withNamespaces.describe('public addresses of the edge itself', () => {
  withNamespaces.test('are not connected to, nor those that it gets while it runs', async () => {
    const machine = new Namespace();
    try {
      machine.addAddress('8.8.4.4/32');
      const options = ['--allow-origin', '*', '--host', '0.0.0.0', '--port', '3125'];
      const child = machine.spawn(process.execPath, [EDGE, ...options]);
      await once(createInterface({ input: child.stdout as Readable }), 'line');
      const refusal = async (host: string) => {
        const url = `http://${machine.insideAddress}:3125/http://${host}:3125/-/status`;
        const { status, body } = await fetchAll(url);
        return status < 400 ? 'ok' : (JSON.parse(body.toString()) as { code: string }).code;
      };
      expect(await refusal('8.8.4.4')).toBe('private-address');
      expect(await refusal('[::ffff:8.8.4.4]')).toBe('private-address');
      expect(await refusal('9.9.9.9')).toBe('origin-unreachable');
      machine.addAddress('9.9.9.9/32');
      await until(async () => (await refusal('9.9.9.9')) === 'private-address');
    } finally {
      await machine.killAll();
      machine.remove();
    }
  });
});

describe('addresses of clients', () => {
  const from = (address: string) => ({ 'x-forwarded-for': address });

  test('a client behind a trusted proxy cannot pass itself off as others', async () => {
    const limited = await EdgeProcess.start([
      ...['--allow-origin', '127.0.0.1', '--client-requests', '1', '--trusted-proxy', '127.0.0.1'],
    ]);
    const status = async (headers: Record<string, string>) =>
      (await fetchAll(`${limited.url}/http://127.0.0.1:${port}/x`, { headers })).status;
    try {
      let i = 0;
      // The client may forge every address before the one that the proxy added.
      await until(async () => (await status(from(`198.51.100.${i++}, 192.0.2.7`))) === 429);
      expect(await status(from('192.0.2.8'))).toBe(200);
      // Fewer than a client may send at once: the first of a new client would all be answered.
      const again = Array.from({ length: 5 }, () =>
        status({ forwarded: 'for=192.0.2.9', ...from('192.0.2.7') }),
      );
      expect(await Promise.all(again)).toContain(429);
    } finally {
      await limited.stop('SIGKILL');
    }
  });

  test('without a trusted proxy the forwarding fields are ignored', async () => {
    const limited = await EdgeProcess.start([
      '--allow-origin',
      '127.0.0.1',
      '--client-requests',
      '1',
    ]);
    try {
      let i = 0;
      const status = async () => {
        const headers = from(`198.51.100.${i++ % 250}`);
        return (await fetchAll(`${limited.url}/http://127.0.0.1:${port}/x`, { headers })).status;
      };
      await until(async () => (await status()) === 429);
    } finally {
      await limited.stop('SIGKILL');
    }
  });
});
