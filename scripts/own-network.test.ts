import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect } from '@jest/globals';
import { notTested } from '../e2e/fixtures/not-tested.ts';
import { openNetwork } from '../e2e/fixtures/own-network.mjs';
import { testsWhere } from '../e2e/fixtures/tests-where.ts';

const network = openNetwork();
network?.close();
if (network === undefined)
  notTested('There are no network namespaces', 'the network of a test run');
const { test } = testsWhere(network !== undefined);

const moduleOf = (name: string) => JSON.stringify(import.meta.resolve(`../e2e/fixtures/${name}`));

/** Makes a namespace of each kind, prints their names, and waits to be killed. */
const OWNER = `
import { execFileSync } from 'node:child_process';
import { MACHINE } from ${moduleOf('hub.mjs')};
import { ownName } from ${moduleOf('left-namespaces.mjs')};
const names = ['mrtests', 'mrhub', MACHINE, MACHINE].map((prefix, i) => ownName(prefix, 'n' + i));
for (const name of names) execFileSync('ip', ['netns', 'add', name]);
console.log(names.join(' '));
setInterval(() => {}, 1000);
`;
/** Opens a hub and closes it again, as a run does. */
const HUB = `
import { closeHub, openHub } from ${moduleOf('hub.mjs')};
closeHub(openHub().name);
`;

const namespaces = (): string[] =>
  execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => line.split(' ')[0] || []);

/** Does what each run of the end-to-end tests does first and last. */
function runOnce(): void {
  const own = openNetwork();
  const [command = '', ...words] = own?.enter ?? [];
  try {
    execFileSync(command, [...words, process.execPath, '--input-type=module', '-e', HUB]);
  } finally {
    own?.close();
  }
}

test('a run of the end-to-end tests has no address but a loopback, and leaves no network behind', () => {
  const own = openNetwork();
  const [command = '', ...words] = own?.enter ?? [];
  const before = namespaces();
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
  const name = command === '' ? '' : words.join(' ').replace(/^.*\//, '');
  expect(before).toContain(name);
  expect(namespaces()).not.toContain(name);
});

test('a run removes what a killed one has left: its network, its hub and its machines', async () => {
  const owner = spawn(process.execPath, ['--input-type=module', '-e', OWNER], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: owner.stdout }), 'line');
  const names = String(line).split(' ');
  // The same names with another namespace of process ids: nothing tells whether their owner runs.
  const elsewhere = names.map((name) => name.replace(/-\d+/, '-1'));
  for (const name of elsewhere) execFileSync('ip', ['netns', 'add', name]);
  try {
    runOnce();
    expect(namespaces()).toEqual(expect.arrayContaining([...names, ...elsewhere]));
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    runOnce();
    const left = namespaces();
    expect(names.filter((name) => left.includes(name))).toEqual([]);
    expect(left).toEqual(expect.arrayContaining(elsewhere));
  } finally {
    owner.kill('SIGKILL');
    for (const name of elsewhere) execFileSync('ip', ['netns', 'delete', name]);
  }
});
