/** Carries out the planned faults, each at its time. */

import type { Fault } from './account/fault-plan.ts';
import { now } from './account/ledger.ts';
import type { SmallDisk } from './stage/small-disk.ts';
import type { SoakDaemon } from './work/daemon.ts';
import { pause, type World } from './work/world.ts';

/** Things that faults strike besides edges, files and commands. */
export interface Struck {
  readonly world: World;
  readonly disks: readonly SmallDisk[];
  readonly daemon: SoakDaemon | undefined;
  /** Browsers that can end the background of the extension. */
  readonly browsers: readonly { killBackground(): Promise<void> }[];
}

/** Carries out the faults; those under way are mended when it resolves. */
export async function strike(struck: Struck, faults: readonly Fault[]): Promise<void> {
  const { world } = struck;
  const begunAt = now();
  const underWay = new Set<Promise<void>>();
  const busy = new Set<string>();
  for (const fault of faults) {
    await pause(world, Math.max(0, begunAt + fault.at - now()));
    if (world.ended.aborted) break;
    // Nothing is struck twice at a time; an edge is either suspended or away.
    const what = `${fault.kind.replace(/^\w+-/, '')} ${fault.target}`;
    if (busy.has(what)) continue;
    busy.add(what);
    const mended = world.ledger.begin(fault);
    const happening = carryOut(struck, fault)
      .catch((error: Error) =>
        world.ledger.trouble(`${fault.kind} ${fault.target}: ${error.message}`),
      )
      .finally(() => {
        mended();
        busy.delete(what);
        underWay.delete(happening);
      });
    underWay.add(happening);
  }
  await Promise.all(underWay);
}

async function carryOut({ world, disks, daemon, browsers }: Struck, fault: Fault): Promise<void> {
  const { edges, files, commands } = world;
  const { kind, target, forMs } = fault;
  switch (kind) {
    case 'kill-edge':
      await edges.kill(target);
      await pause(world, forMs);
      return edges.revive(target);
    case 'stop-edge':
      edges.signal(target, 'SIGSTOP');
      await pause(world, forMs);
      return edges.signal(target, 'SIGCONT');
    case 'change-file':
      return files.change(target);
    case 'kill-command':
      return commands.kill(target);
    case 'fill-disk':
      try {
        await disks[target]?.fill();
        await pause(world, forMs);
      } finally {
        await disks[target]?.empty();
      }
      return;
    case 'kill-daemon':
      return daemon?.strike(forMs, world);
    case 'kill-background':
      return browsers[target]?.killBackground();
  }
}
