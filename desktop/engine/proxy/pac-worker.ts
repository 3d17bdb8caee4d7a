/**
 * Thread that runs a proxy auto-configuration script (PAC). The script comes from the network, so it
 * runs in an interpreter of its own (QuickJS in WebAssembly), which knows nothing of Node, files or
 * the network, and has its own memory. The script can look up addresses of names, as PAC allows: it
 * waits, as scripts do, while `pac-thread.ts` looks a name up. That side also ends the thread if it
 * does not answer in time.
 */

import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { sandbox } from 'pac-resolver';
import { type JSValueHandle, QuickJS } from 'quickjs-wasi';

export interface PacData {
  readonly script: string;
  /** Two numbers and a text: whether an address has been looked up, its bytes, and it itself. */
  readonly found: SharedArrayBuffer;
}

export interface PacQuestion {
  readonly id: number;
  readonly url: string;
  readonly host: string;
}

export type PacReply =
  | { readonly id: number; readonly answer: string }
  /** Why there is no answer. */
  | { readonly id: number; readonly error: string }
  /** A name whose address the script waits for. */
  | { readonly lookup: string };

/** Memory of the script, in bytes, and its longest stack. */
const MEMORY_BYTES = 16 * 1024 * 1024;
const STACK_BYTES = 256 * 1024;

const { script, found } = workerData as PacData;
const state = new Int32Array(found, 0, 2);
const address = new Uint8Array(found, 8);

const machine = await QuickJS.create({
  wasm: await readFile(new URL(import.meta.resolve('quickjs-wasi/quickjs.wasm'))),
  memoryLimit: MEMORY_BYTES,
  maxStackSize: STACK_BYTES,
});

const { dateRange, timeRange, weekdayRange } = sandbox;
const { dnsDomainIs, dnsDomainLevels, isPlainHostName, localHostOrDomainIs, shExpMatch } = sandbox;
/** Functions that every script can call. */
const FUNCTIONS: Readonly<Record<string, (...args: never[]) => unknown>> = {
  ...{ dateRange, timeRange, weekdayRange },
  ...{ dnsDomainIs, dnsDomainLevels, isPlainHostName, localHostOrDomainIs, shExpMatch },
  dnsResolve: (host: unknown) => addressOf(host),
  isResolvable: (host: unknown) => addressOf(host) !== null,
  isInNet: (host: unknown, network: unknown, mask: unknown) => {
    const [own, base, bits] = [addressOf(host), network, mask].map(numberOf);
    if (own === undefined || base === undefined || bits === undefined) return false;
    return (own & bits) === (base & bits);
  },
  myIpAddress: ownAddress,
  alert: () => undefined,
};

/** The script's function, or why there is none. */
const find = readScript();

parentPort?.on('message', (question: PacQuestion) => {
  parentPort?.postMessage(replyTo(question));
});

function readScript(): JSValueHandle | string {
  try {
    for (const [name, run] of Object.entries(FUNCTIONS)) {
      const called = machine.newFunction(name, (...args) => {
        const result = run(...(args.map((arg) => machine.dump(arg)) as never[]));
        return machine.hostToHandle(result);
      });
      machine.setProp(machine.global, name, called);
    }
    machine.evalCode(script, 'proxy.pac').dispose();
    const made = machine.evalCode('FindProxyForURL');
    return machine.typeof(made) === 'function' ? made : 'it has no function FindProxyForURL';
  } catch (error) {
    return textOf(error);
  }
}

function replyTo({ id, url, host }: PacQuestion): PacReply {
  if (typeof find === 'string') return { id, error: find };
  const args = [machine.newString(url), machine.newString(host)];
  try {
    const result = machine.callFunction(find, machine.undefined, ...args);
    const answer = String(machine.dump(result) ?? '');
    result.dispose();
    return { id, answer };
  } catch (error) {
    return { id, error: textOf(error) };
  } finally {
    for (const handle of args) handle.dispose();
  }
}

/** Looks a name up, and waits for it. @returns its first IPv4 address, null if there is none */
function addressOf(host: unknown): string | null {
  if (typeof host !== 'string' || host === '') return null;
  if (numberOf(host) !== undefined) return host;
  Atomics.store(state, 0, 0);
  const reply: PacReply = { lookup: host.slice(0, 300) };
  parentPort?.postMessage(reply);
  Atomics.wait(state, 0, 0);
  const bytes = Atomics.load(state, 1);
  // TextDecoder does not read shared memory.
  return bytes === 0 ? null : Buffer.from(Uint8Array.from(address).subarray(0, bytes)).toString();
}

/** Reads an IPv4 address. @returns undefined for anything else */
function numberOf(text: unknown): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(String(text))?.slice(1);
  if (parts === undefined || parts.some((part) => Number(part) > 255)) return undefined;
  return parts.reduce((all, part) => (all << 8) | Number(part), 0);
}

/** Returns the first IPv4 address of this machine that others can know. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const own = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  return own?.address ?? '127.0.0.1';
}

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 300);
}
