/** Methods for exporting and importing lists of downloads. */

import { MillraceError } from '@millrace/shared/base/errors';
import type { ResultOf } from '@millrace/shared/bridge/contract/contract';
import { EXCHANGE_ROWS, type ImportList } from '@millrace/shared/bridge/contract/exchange-rows';
import type { ImportEntry } from '@millrace/shared/bridge/rpc/adding-api';
import type { FailureData } from '@millrace/shared/bridge/rpc/daemon-api';
import { isExnodeLink } from '@millrace/shared/download/request/document-name';
import type { NewDownload } from '../../downloads/download-schema.ts';
import { exportList, importList, type Listed } from '../../downloads/exchange.ts';
import { withExnodes } from '../../downloads/exnodes.ts';
import type { Manager } from '../../downloads/manager.ts';
import { type DelicatePart, withoutDelicate } from '../../downloads/untrusted.ts';
import { inTurns } from '../../platform/turns.ts';
import type { DownloadRecord } from '../../store/record.ts';
import { readOptions } from '../aria2/option-table.ts';
import { toNewDownload } from '../aria2/options.ts';
import type { Method } from '../calls/dispatcher.ts';
import { toJsonRpcError } from '../calls/rpc-error.ts';
import { methodsOf } from './params.ts';

const MAX_EXPORTED = 200_000;
/** Most characters of a value in a preview. */
const MAX_VALUE_CHARS = 300;

/**
 * Reads the downloads of an export one by one. The first read decides on their list: a download that ends
 * meanwhile comes once, and one that is removed does not come.
 */
function* recordsFor(
  manager: Manager,
  which: 'all' | 'queue' | 'history',
): Generator<DownloadRecord> {
  const { store } = manager;
  const queue = which === 'history' ? [] : manager.unfinished().map(({ gid }) => gid);
  const history = which === 'queue' ? [] : store.finishedGids(MAX_EXPORTED);
  for (const gid of [...queue, ...history]) {
    const record = manager.find(gid) ?? store.get(gid);
    if (record !== undefined) yield record;
  }
}

export function exchangeMethods(manager: Manager): [string, Method][] {
  return methodsOf(EXCHANGE_ROWS, {
    'millrace.export': async (p) => ({
      text: await exportList(recordsFor(manager, p.which), p.format, p.secrets),
    }),
    'millrace.previewImport': async (p) => {
      const entries: ImportEntry[] = [];
      const skipped: Skipped[] = [];
      await inTurns(await importList(p.text, p.format), (listed) => {
        try {
          entries.push(previewOf(manager, listed, p));
        } catch (error) {
          skipped.push(skippedBy(listed, error));
        }
      });
      return { entries, skipped };
    },
    'millrace.import': async (p) => {
      const added = new Map<Listed, string>();
      const skipped: Skipped[] = [];
      const list = await importList(p.text, p.format);
      const described = await readExnodes(manager, list, p);
      const { first, rest } = inOrder(list);
      const descriptions = new Map<string, string>();
      await manager.inTurns([...first, ...rest], (listed) => {
        try {
          const { download: planned, ended } = planOf(manager, listed, p);
          const read = described.get(listed);
          if (read instanceof MillraceError) throw read;
          const { gid } = planned;
          const download = {
            ...(read === undefined ? planned : { ...read, gid }),
            ...linkOf(listed, descriptions),
          };
          const record =
            ended === undefined
              ? manager.add(download)
              : manager.addFinished(download, ended, listed.isFollowed);
          added.set(listed, record.gid);
          const listedGid = listed.download.gid;
          if (listed.isFollowed === true && listedGid !== undefined) {
            descriptions.set(listedGid, record.gid);
          }
        } catch (error) {
          skipped.push(skippedBy(listed, error));
        }
      });
      const gids = list.flatMap((listed) => added.get(listed) ?? []);
      return { gids, skipped: skipped.toSorted((a, b) => a.line - b.line) };
    },
  });
}

/** Puts followed descriptions before all others, as these name descriptions by the gids that they get here. */
function inOrder(list: readonly Listed[]): { first: Listed[]; rest: Listed[] } {
  const { first = [], rest = [] } = Object.groupBy(list, ({ isFollowed }) =>
    isFollowed === true ? 'first' : 'rest',
  );
  return { first, rest };
}

/**
 * Links a file to the description that has led to it. Only those of the same list count: a list says
 * nothing about downloads that are here already. Without its description the file is one like others,
 * which is not followed even if it describes some itself.
 *
 * @param descriptions gids of descriptions here by their gids in the list
 */
function linkOf(
  { following }: Listed,
  descriptions: ReadonlyMap<string, string>,
): Pick<NewDownload, 'following' | 'follow'> {
  if (following === undefined) return {};
  const gid = descriptions.get(following);
  return gid === undefined ? { follow: false } : { following: gid };
}

/** Reads the exNodes that links of a list lead to. @returns the downloads that these describe */
async function readExnodes(
  manager: Manager,
  list: readonly Listed[],
  asked: ImportList,
): Promise<ReadonlyMap<Listed, NewDownload | MillraceError>> {
  const found = await inTurns(list, (listed) => {
    const { download, ended } = listed;
    const url: unknown = download.urls?.[0];
    if (typeof url !== 'string' || !isExnodeLink(url) || download.exnode || ended) return [];
    try {
      return [{ listed, planned: planOf(manager, listed, asked).download }];
    } catch {
      return []; // the import itself reports why an entry is skipped
    }
  });
  const links = found.flat();
  const read = await withExnodes(links.map(({ planned }) => planned));
  return new Map(links.map(({ listed }, i) => [listed, read[i] as NewDownload | MillraceError]));
}

type Skipped = ResultOf<'millrace.import'>['skipped'][number];

interface Plan {
  readonly download: NewDownload;
  readonly ended: Listed['ended'];
  /** Settings that are left out of an untrusted list, and used from a trusted one. */
  readonly delicate: readonly DelicatePart[];
}

/** Plans the download that an entry becomes. The preview and the import use the same plan. */
function planOf(manager: Manager, listed: Listed, { paused, dir, trusted }: ImportList): Plan {
  const given =
    listed.options === undefined ? {} : toNewDownload({}, readOptions(listed.options, false));
  const { gid, ...asked } = { ...given, ...listed.download };
  const windows = process.platform === 'win32';
  const cleaned = withoutDelicate(asked, manager.dir, windows);
  const whole: NewDownload = {
    ...(trusted ? asked : cleaned.download),
    ...gidIfFree(manager, gid),
  };
  if (paused !== undefined) whole.paused = paused;
  if (dir !== undefined) {
    whole.dir = dir;
    if (whole.within !== undefined) whole.within = '.';
  }
  if (whole.category !== undefined && !knowsCategory(manager, whole.category)) {
    delete whole.category;
  }
  const { ended } = listed;
  // The path of a finished file is delicate, because the file there can be opened or deleted.
  const place = ended?.path === undefined ? [] : [{ what: 'place' as const, value: ended.path }];
  return {
    download: whole,
    ended: ended === undefined || trusted ? ended : { ...ended, path: undefined },
    delicate: [
      ...cleaned.delicate.filter(({ what }) => what !== 'folder' || dir === undefined),
      ...place,
    ],
  };
}

function previewOf(manager: Manager, listed: Listed, asked: ImportList): ImportEntry {
  const { download, ended, delicate } = planOf(manager, listed, asked);
  const { request, name } = manager.draft(download);
  return {
    line: listed.at,
    url: request.urls[0] as string,
    name,
    dir: request.dir,
    length: request.length ?? ended?.length,
    finished: ended !== undefined,
    delicate: delicate.map(({ what, value }) => ({ what, value: value.slice(0, MAX_VALUE_CHARS) })),
  };
}

function skippedBy(listed: Listed, error: unknown): Skipped {
  const { message, data } = toJsonRpcError(error);
  const { code, detail, particulars } = (data ?? {}) as Partial<FailureData>;
  const why = code === undefined ? {} : { code, detail, particulars };
  return { line: listed.at, reason: message, ...why };
}

function knowsCategory(manager: Manager, wanted: string): boolean {
  return manager.settings.categories.some(({ name }) => name === wanted);
}

/** Keeps a gid only if no other download has it; otherwise the download gets a new one. */
function gidIfFree(manager: Manager, gid: string | undefined): { gid?: string } {
  if (gid === undefined) return {};
  try {
    manager.get(gid);
    return {};
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    return { gid };
  }
}
