import { execFileSync } from 'node:child_process';
import { expect } from '@jest/globals';
import { notTested } from '../e2e/fixtures/not-tested.ts';
import { openNetwork } from '../e2e/fixtures/own-network.mjs';
import { testsWhere } from '../e2e/fixtures/tests-where.ts';

const network = openNetwork();
network?.close();
if (network === undefined)
  notTested('There are no network namespaces', 'the network of a test run');
const { test } = testsWhere(network !== undefined);

test('a run of the end-to-end tests has no address but a loopback, and leaves no network behind', () => {
  const own = openNetwork();
  const [command = '', ...words] = own?.enter ?? [];
  try {
    const text = execFileSync(command, [...words, 'ip', '-j', 'address'], { encoding: 'utf8' });
    const ports = (JSON.parse(text) as { addr_info: { local: string }[] }[])
      .flatMap(({ addr_info }) => addr_info)
      .map(({ local }) => local);
    expect(ports).toEqual(expect.arrayContaining(['127.0.0.1']));
    expect(ports.filter((address) => address !== '127.0.0.1' && address !== '::1')).toEqual([]);
  } finally {
    own?.close();
  }
  const left = execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' }).split(/\s+/);
  expect(left).not.toContain(`mrtests${process.pid}`);
});
