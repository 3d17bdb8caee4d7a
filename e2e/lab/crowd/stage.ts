/** The crowd of one measurement: hosts, a file at the origin, and the outcome of each client. */

import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contentOf } from '../../fixtures/origins/content.ts';
import { Gate } from '../gate.ts';
import type { Host } from '../host.ts';
import { Lab } from '../lab.ts';
import { type Crowd, type CrowdLinks, crowd } from '../topologies.ts';

const NAME = 'file.bin';

/** Outcome of a client's download. */
export interface Outcome {
  /** Seconds since the client was told to begin. */
  readonly seconds: number;
  /** The failure, if any. */
  readonly failure: string | undefined;
}

/**
 * A system that delivers files: programs at the origin and the edges, and a program that clients
 * run.
 */
export interface System {
  /** Downloads to `output` once the gate is open. */
  fetch(client: Host, number: number, output: string, gate: Gate): Promise<Outcome>;
  /** Returns the body bytes that the origin has sent since the last call, if the system knows. */
  originBytes(): Promise<number | undefined>;
}

/** Results of a run. */
export interface CrowdRun {
  readonly outcomes: readonly (Outcome & { readonly afterMs: number })[];
  readonly bytes: number;
  /** Body bytes sent by the origin, as multiples of the file's size. */
  readonly originCopies: number | undefined;
  /** Bytes of the origin's packets with headers, as multiples of the file's size. */
  readonly wireCopies: number;
  /** Load of the machine, 0 to 1: near 1 the run measures the processors, not the links. */
  readonly busy: number;
  /** Average and longest delay of packets beyond their links' delay, milliseconds. */
  readonly lateMs: number | undefined;
  readonly worstLateMs: number | undefined;
}

export class CrowdStage {
  readonly lab: Lab;
  readonly crowd: Crowd;
  /** Folder served by the origin. */
  readonly root: string;
  readonly fileName = NAME;
  readonly bytes: number;
  readonly #digest: string;

  private constructor(lab: Lab, links: CrowdLinks, root: string, content: Buffer) {
    this.lab = lab;
    this.crowd = crowd(lab, links);
    this.root = root;
    this.bytes = content.length;
    this.#digest = createHash('sha256').update(content).digest('hex');
  }

  static async open(links: CrowdLinks, bytes: number, seed: number): Promise<CrowdStage> {
    const lab = await Lab.open({ seed });
    const root = join(lab.folder, 'www');
    await mkdir(root);
    const content = contentOf(`crowd ${seed}`, bytes);
    await writeFile(join(root, NAME), content);
    return new CrowdStage(lab, links, root, content);
  }

  get filePath(): string {
    return join(this.root, NAME);
  }

  /** Creates a folder that is deleted with the laboratory. */
  async folder(name: string): Promise<string> {
    const path = join(this.lab.folder, name);
    await mkdir(path, { recursive: true });
    return path;
  }

  /**
   * Has all clients fetch the file.
   *
   * @param afterMs start time of each client, milliseconds
   */
  async run(system: System, afterMs: (client: number) => number): Promise<CrowdRun> {
    const folder = await this.folder('got');
    const clients = this.crowd.clients.map((host, i) => ({
      host,
      gate: new Gate(),
      afterMs: afterMs(i),
      output: join(folder, String(i)),
    }));
    const running = clients.map(({ host, gate, output }, i) => system.fetch(host, i, output, gate));
    await Promise.all(clients.map(({ gate }) => gate.ready()));
    await system.originBytes();
    await this.lab.delayStats();
    const [wireBefore, busyBefore] = [await sentBy(this.crowd.origin), await processorTime()];
    for (const { gate, afterMs: ms } of clients) {
      if (ms === 0) gate.open();
      else setTimeout(() => gate.open(), ms);
    }
    const done = await Promise.all(running);
    const wire = (await sentBy(this.crowd.origin)) - wireBefore;
    const busyAfter = await processorTime();
    const stats = await this.lab.delayStats();
    const body = await system.originBytes();
    const outcomes = await Promise.all(
      clients.map(async ({ output, afterMs: ms }, i) => ({
        ...(await this.#checked(done[i] as Outcome, output)),
        afterMs: ms,
      })),
    );
    await rm(folder, { recursive: true });
    return {
      outcomes,
      bytes: this.bytes,
      originCopies: body === undefined ? undefined : body / this.bytes,
      wireCopies: wire / this.bytes,
      busy: (busyAfter.busy - busyBefore.busy) / (busyAfter.all - busyBefore.all),
      lateMs: stats?.meanLateMs,
      worstLateMs: stats?.maxLateMs,
    };
  }

  /** Checks that a client that reports success has the right file. */
  async #checked(outcome: Outcome, output: string): Promise<Outcome> {
    if (outcome.failure !== undefined) return outcome;
    const digest = createHash('sha256')
      .update(await readFile(output))
      .digest('hex');
    return digest === this.#digest ? outcome : { ...outcome, failure: 'WRONG BYTES' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.close();
  }
}

/** Returns the bytes that a host has sent on its line. */
async function sentBy(host: Host): Promise<number> {
  const { stdout } = await host.run('cat', ['/sys/class/net/eth0/statistics/tx_bytes']);
  return Number(stdout);
}

async function processorTime(): Promise<{ busy: number; all: number }> {
  const [line = ''] = (await readFile('/proc/stat', 'latin1')).split('\n');
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] =
    line.split(/\s+/).slice(1).map(Number);
  const busy = user + nice + system + irq + softirq + steal;
  return { busy, all: busy + idle + iowait };
}
