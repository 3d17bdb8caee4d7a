/** Remembers the part of a download's detail that one page has received, to send only changes. */

import type { DownloadDetail } from '@millrace/shared/bridge/rpc/detail-api';
import type { DetailPatch, LiveUpdate } from '@millrace/shared/bridge/rpc/live-api';
import type { Manager } from '../../downloads/manager.ts';
import { detailOf } from '../../views/detail.ts';
import type { DownloadLogs } from '../../views/download-logs.ts';

export class DetailCursor {
  readonly #gid: string;
  readonly #cells: number;
  /** Fields as last sent, as JSON, by name. */
  readonly #sent = new Map<string, string>();
  #stored: readonly number[] = [];
  #seq = 0;
  #samples = 0;

  constructor(gid: string, cells: number) {
    this.#gid = gid;
    this.#cells = cells;
  }

  /** Returns the whole detail. @throws MillraceError `no-such-download` */
  first(manager: Manager, downloadLogs: DownloadLogs): DownloadDetail {
    const detail = detailOf(manager, downloadLogs, manager.get(this.#gid), this.#cells);
    this.#changes(detail);
    this.#seq = detail.log.at(-1)?.seq ?? 0;
    this.#samples = downloadLogs.downloadLog(detail.gid).speed.count;
    return detail;
  }

  /**
   * Returns the changes since the last call; undefined if there are none, or the download is gone.
   */
  next(manager: Manager, downloadLogs: DownloadLogs): LiveUpdate['detail'] {
    let detail: DownloadDetail;
    try {
      detail = detailOf(manager, downloadLogs, manager.get(this.#gid), this.#cells);
    } catch {
      return undefined;
    }
    const arriving = detail.map.stored.flatMap((share, i) =>
      share > (this.#stored[i] ?? share) ? i : [],
    );
    this.#stored = detail.map.stored;
    const changes = this.#changes({ ...detail, map: { ...detail.map, arriving } });
    const newLog = detail.log.filter(({ seq }) => seq > this.#seq);
    this.#seq = detail.log.at(-1)?.seq ?? this.#seq;
    const { speed } = downloadLogs.downloadLog(detail.gid);
    const newSpeed = speed.since(this.#samples);
    this.#samples = speed.count;
    const grown = {
      ...(newLog.length > 0 ? { newLog } : {}),
      ...(newSpeed.bytesPerSecond.length > 0 ? { newSpeed } : {}),
    };
    const patch: DetailPatch = { gid: detail.gid, ...changes, ...grown };
    return Object.keys(patch).length > 1 ? patch : undefined;
  }

  #changes({ gid: _, log: __, speed: ___, ...members }: DownloadDetail): Partial<DownloadDetail> {
    const changed = Object.entries(members).filter(([name, value]) => {
      const text = JSON.stringify(value) ?? '';
      const isNew = this.#sent.get(name) !== text;
      this.#sent.set(name, text);
      return isNew;
    });
    return Object.fromEntries(changed);
  }
}
