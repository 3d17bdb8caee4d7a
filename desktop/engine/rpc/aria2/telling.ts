/** aria2's methods that describe downloads. */

import type { Manager } from '../../downloads/manager.ts';
import type { DownloadRecord } from '../../store/record.ts';
import type { Method } from '../calls/dispatcher.ts';
import { aria2Error } from '../calls/rpc-error.ts';
import { find } from './downloads.ts';
import { amount, integer, keysIn } from './params.ts';
import { type Aria2Struct, filesOf, serversOf, tellStatus, urisOf } from './status.ts';

export function tellingMethods(manager: Manager): [string, Method][] {
  const tell = (records: readonly DownloadRecord[], keys: readonly string[] | undefined) =>
    records.map((record) => tellStatus(manager, record, keys));
  return [
    ['aria2.tellStatus', (params) => tellStatus(manager, find(manager, params), keysIn(params, 1))],
    [
      'aria2.tellActive',
      (params) => {
        const active = manager.queue.active.map(({ gid }) => manager.get(gid));
        return tell(active, keysIn(params, 0));
      },
    ],
    [
      'aria2.tellWaiting',
      (params) => {
        const [offset, count] = [integer(params, 0), amount(params, 1)];
        const line = manager.queue.line.map(({ gid }) => gid);
        const gids = slice(line, offset, count);
        return tell(
          gids.map((gid) => manager.get(gid)),
          keysIn(params, 2),
        );
      },
    ],
    [
      'aria2.tellStopped',
      (params) => {
        const [offset, count] = [integer(params, 0), amount(params, 1)];
        // With a negative offset the list goes backwards from the end.
        const page =
          offset < 0
            ? { offset: -offset - 1, limit: count }
            : { offset, limit: count, oldestFirst: true };
        return tell(manager.store.history({}, page).records, keysIn(params, 2));
      },
    ],
  ];
}

export function insideMethods(manager: Manager): [string, Method][] {
  return [
    ['aria2.getUris', (params) => urisOf(manager, find(manager, params))],
    ['aria2.getFiles', (params) => filesOf(manager, find(manager, params))],
    [
      'aria2.getServers',
      (params) => {
        const record = find(manager, params);
        if (record.state === 'active') return serversOf(manager, record);
        throw aria2Error(`No active download for GID#${record.gid}`);
      },
    ],
    [
      'aria2.getPeers',
      (params) => {
        find(manager, params);
        return [];
      },
    ],
    [
      'aria2.getGlobalStat',
      (): Aria2Struct => {
        const { active, line } = manager.queue;
        const speed = active.reduce(
          (sum, { gid }) => sum + (manager.running(gid)?.progress().bytesPerSecond ?? 0),
          0,
        );
        const stopped = String(manager.store.history({}, { offset: 0, limit: 0 }).total);
        return {
          downloadSpeed: String(Math.round(speed)),
          numActive: String(active.length),
          numStopped: stopped,
          numStoppedTotal: stopped,
          numWaiting: String(line.length),
          uploadSpeed: '0',
        };
      },
    ],
  ];
}

/** Returns a page of a list. A negative offset counts from the end, and the page goes backwards. */
function slice<T>(all: readonly T[], offset: number, count: number): T[] {
  if (offset >= 0) return all.slice(offset, offset + count);
  return all
    .slice(0, Math.max(0, all.length + offset + 1))
    .reverse()
    .slice(0, count);
}
