/** Reads the page that a link leads to, when the user wants it, and shows its links in its place. */

import type { PageLinks } from '@millrace/shared/bridge/rpc/adding-api';
import { useEffect, useRef, useState } from 'react';
import { type AddForm, requestsOf } from '../../model/adding/add-form.ts';
import { leftAtFirst, looksLikePage, type ShownLink } from '../../model/adding/found-filter.ts';
import { useApp, useText } from '../common/context.tsx';

/** Most levels of folders that the daemon looks into. */
const MAX_DEPTH = 8;

export interface PageReading {
  /** The page that was read; undefined: none. */
  readonly page: PageLinks | undefined;
  readonly running: boolean;
  /** Reads the page; undefined where there is no link that may lead to one. */
  readonly read: (() => void) | undefined;
  /** Reads the folders one level further down; undefined: there are none. */
  readonly deeper: (() => void) | undefined;
}

/** Pages are asked with the log-in and header fields that are typed in the dialog. */
export function usePage(
  links: readonly ShownLink[],
  form: AddForm,
  isPageType: boolean,
  setLeft: (change: (left: ReadonlySet<string>) => ReadonlySet<string>) => void,
): PageReading {
  const app = useApp();
  const [page, setPage] = useState<PageLinks>();
  const [depth, setDepth] = useState(0);
  const [running, setRunning] = useState(false);
  const round = useRef(0);
  useEffect(() => {
    setPage(undefined);
    setRunning(false);
    // Other links end the reading of an earlier page, and so does closing the dialog.
    return () => void (links.length > 0 && round.current++);
  }, [links]);
  const [link] = links;
  const ask = async (levels: number) => {
    if (link === undefined) return;
    const mine = ++round.current;
    setRunning(true);
    const plain = { ...form, start: 'now' as const, file: '', checksum: '', older: '' };
    const [request] = requestsOf(plain, [link], false);
    const asked = { ...request, urls: [link.url], depth: levels };
    const answer = await app.attempt(app.call('millrace.readPage', asked));
    if (mine !== round.current) return;
    setRunning(false);
    if (answer === undefined) return;
    const known = new Set(levels === 0 ? [] : page?.links.map(({ url }) => url));
    const more = leftAtFirst(answer.links).filter((url) => !known.has(url));
    setLeft((left) => new Set(levels === 0 ? more : [...left, ...more]));
    setDepth(levels);
    setPage(answer);
  };
  const single = links.length === 1 && link !== undefined && !link.exnode && !link.metalink;
  const isPage = single && (isPageType || looksLikePage(link.url));
  const hasDeeper = page !== undefined && page.folders > 0 && depth < MAX_DEPTH;
  return {
    page,
    running,
    read: isPage && page === undefined && !running ? () => void ask(0) : undefined,
    deeper: hasDeeper && !running ? () => void ask(depth + 1) : undefined,
  };
}

/** Offers to read the page, and says what it has. */
export function PageLine({ reading }: { reading: PageReading }) {
  const text = useText();
  const { page, running, read, deeper } = reading;
  if (page === undefined && read === undefined && !running) return null;
  const n = page?.links.length ?? 0;
  const [unread] = page?.unread ?? [];
  return (
    <div className="add-line">
      <span className="note" role="status">
        {running
          ? text.t('add.page.reading')
          : page !== undefined && text.n(page.listing ? 'add.page.files' : 'add.page.links', n)}
        {!running && page?.truncated === true && ` ${text.t('add.page.truncated')}`}
        {!running &&
          unread !== undefined &&
          ` ${text.n('add.page.unread', page?.unread.length ?? 0, {
            reason: text.error({ code: unread.code, message: unread.code }).title,
          })}`}
      </span>
      {read !== undefined && (
        <button type="button" className="text-button" onClick={read}>
          {text.t('add.page')}
        </button>
      )}
      {deeper !== undefined && (
        <button type="button" className="text-button" onClick={deeper}>
          {text.n('add.page.folders', page?.folders ?? 0)}
        </button>
      )}
    </div>
  );
}
