/** Methods of the dialog that adds downloads. */

import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { ADDING_ROWS } from '@millrace/shared/bridge/contract/adding-rows';
import type {
  AddedResult,
  AddManyResult,
  Apart,
  MetalinkFile,
} from '@millrace/shared/bridge/rpc/adding-api';
import { typedLinks } from '@millrace/shared/download/adding/typed-links';
import type { NewDownload } from '../../downloads/download-schema.ts';
import { duplicateOf } from '../../downloads/duplicates.ts';
import {
  describeExnode,
  exnodeDownload,
  withExnode,
  withExnodes,
} from '../../downloads/exnodes.ts';
import { linksOf, placeOf } from '../../downloads/found-links.ts';
import type { Manager } from '../../downloads/manager.ts';
import {
  fetchMetalink,
  type MetalinkOptions,
  readMetalink,
  withOptions,
} from '../../downloads/metalinks.ts';
import { pageLinks } from '../../downloads/pages.ts';
import { probeLinks, type ServerAnswer } from '../../downloads/probes.ts';
import type { Added } from '../../downloads/renewals.ts';
import { RecentAnswers } from '../../platform/recent-answers.ts';
import { inTurns } from '../../platform/turns.ts';
import type { Method } from '../calls/dispatcher.ts';
import { DialogQuestions } from './dialog-questions.ts';
import { type MillraceOptions, methodsOf } from './params.ts';

/** Time for which an answer of a server is used again, in milliseconds, and most answers that are kept. */
const KEPT_MS = 60_000;
const MAX_KEPT = 64;

export function addingMethods({ manager, parseMetalink }: MillraceOptions): [string, Method][] {
  const dialogs = new DialogQuestions();
  const clock = () => performance.now();
  const recent = new RecentAnswers<ServerAnswer>({ keptMs: KEPT_MS, most: MAX_KEPT, clock });
  return methodsOf(ADDING_ROWS, {
    'millrace.add': async (p, { remote }) => {
      const asked = await withExnode(p as NewDownload);
      const { download, resolved } = await manager.resolvedLinks.find(asked, remote === undefined);
      const plan = await manager.renewals.plan(download);
      const added = manager.renewals.carryOut(download, plan);
      manager.resolvedLinks.keep(added.record.gid, resolved);
      return addedOf(added);
    },
    'millrace.addMany': (p, { remote }) =>
      addMany(manager, p.downloads as NewDownload[], remote === undefined),
    'millrace.addExnode': async ({ exnode, ...rest }) => {
      const download = await exnodeDownload(Buffer.from(exnode, 'base64'), rest);
      return { gid: manager.add(download).gid };
    },
    'millrace.readExnode': async (p) => {
      const { name, size, isEncrypted, urls } = await describeExnode(
        Buffer.from(p.exnode, 'base64'),
      );
      return { name, size, encrypted: isEncrypted, urls: [...urls], ...placeOf(manager, name) };
    },
    'millrace.addMetalink': async ({ metalink, only, mirrors, ...rest }) => {
      const document = Buffer.from(metalink, 'base64');
      const files =
        only === undefined
          ? await parseMetalink(document, Date.now(), { mirrors, proxy: proxyOf(rest) })
          : await chosen(document, only, { mirrors, proxy: proxyOf(rest) });
      const asked = files.map((file) => withOptions(file, { rename: true, ...rest }));
      return { gids: manager.addAll(asked).map((record) => record.gid) };
    },
    'millrace.readMetalink': async ({ metalink, url }, { remote }) => {
      if ((metalink === undefined) === (url === undefined)) {
        throw new MillraceError('bad-option', { code: 'document-or-url' });
      }
      if (url === undefined) {
        return { files: await readFiles(manager, Buffer.from(metalink ?? '', 'base64')) };
      }
      // Others may not have this machine look into its network.
      const document = await fetchMetalink(manager, url, remote !== undefined);
      const files = await readFiles(manager, document, url);
      return { files, metalink: document.toString('base64') };
    },
    'millrace.parseText': async ({ text }) => {
      const { links, truncated, problems } = typedLinks(text);
      return {
        links: await linksOf(manager, links),
        truncated,
        problems: problems.map(({ fault, values, detail }) => ({ fault, values, text: detail })),
      };
    },
    'millrace.probe': async ({ downloads, dialog }, { remote, subscriber }) => {
      const asked = downloads as NewDownload[];
      const isOwn = remote === undefined;
      if (dialog === undefined) return { links: await probeLinks(manager, asked, { isOwn }) };
      const links = await dialogs.ask(subscriber, dialog, (signal) =>
        probeLinks(manager, asked, { isOwn, signal, recent }),
      );
      return { links };
    },
    'millrace.readPage': ({ depth = 0, ...asked }) =>
      pageLinks(manager, asked as NewDownload, depth),
    'millrace.checkDuplicates': async ({ urls }) => {
      const found = await inTurns(urls, (url) => duplicateOf(manager.store, url));
      return { duplicates: found.flatMap((duplicate) => duplicate ?? []) };
    },
  });
}

/** Adds all valid downloads, which the queue takes up together, after the exNodes that links lead to have been read. */
async function addMany(
  manager: Manager,
  downloads: readonly NewDownload[],
  isOwn: boolean,
): Promise<AddManyResult> {
  const gids: string[] = [];
  const renewed: string[] = [];
  const apart: Apart[] = [];
  const failed: AddManyResult['failed'][number][] = [];
  const all = await withExnodes(downloads);
  const found = await manager.resolvedLinks.findAll(
    all.map((one) => (one instanceof MillraceError ? { urls: [] } : one)),
    isOwn,
  );
  const read = all.map((one, index) => {
    const result = found[index] as (typeof found)[number];
    if (one instanceof MillraceError) return one;
    return result instanceof MillraceError ? result : result.download;
  });
  const plans = await manager.renewals.planAll(
    read.map((download) => (download instanceof MillraceError ? undefined : download)),
  );
  await manager.inTurns(read, (download, index) => {
    try {
      if (download instanceof MillraceError) throw download;
      const added = addedOf(manager.renewals.carryOut(download, plans[index]));
      const result = found[index];
      if (result !== undefined && 'resolved' in result) {
        manager.resolvedLinks.keep(added.gid, result.resolved);
      }
      gids.push(added.gid);
      if (added.renewed === true) renewed.push(added.gid);
      if (added.apart !== undefined) apart.push(added.apart);
    } catch (thrown) {
      const { code, message, detail, particulars } = asMillraceError(thrown);
      const said = particulars === undefined ? {} : { particulars };
      failed.push({ index, code, message, detail, ...said });
    }
  });
  return { gids, failed, renewed, apart };
}

/** Returns the answer about a download that was added, or that continues. */
function addedOf({ record, renewed, apart }: Added): AddedResult {
  const { gid } = record;
  if (renewed) return { gid, renewed };
  return apart === undefined
    ? { gid }
    : { gid, apart: { gid: apart.gid, name: apart.name, why: apart.why } };
}

async function readFiles(
  manager: Manager,
  document: Uint8Array,
  base?: string,
): Promise<MetalinkFile[]> {
  const described = await readMetalink(document, Date.now(), { base });
  return inTurns(described, ({ file, download }, index) => {
    const { name, size, digests } = file;
    const urls = download?.urls ?? [];
    return {
      index,
      name,
      size,
      urls,
      digests,
      pieces: download?.pieces?.hexes.length ?? 0,
      ...placeOf(manager, name),
      ...(download?.dir === undefined ? {} : { dir: manager.dir }),
      usable: urls.length > 0,
      duplicate: urls[0] === undefined ? undefined : duplicateOf(manager.store, urls[0]),
    };
  });
}

/** Returns files by their places in the document, without those that cannot be downloaded. */
async function chosen(
  document: Uint8Array,
  only: readonly number[],
  options: MetalinkOptions,
): Promise<NewDownload[]> {
  const files = await readMetalink(document, Date.now(), options);
  return [...new Set(only)].flatMap((index) => files[index]?.download ?? []);
}

/** Returns the proxy of options that have not been checked yet. */
function proxyOf({ proxy }: { readonly proxy?: unknown }): string | undefined {
  return typeof proxy === 'string' ? proxy : undefined;
}
