/** Has the daemon read the magnet links of a typed text, and the Metalinks and torrents that its links lead to. */

import { useEffect, useState } from 'react';
import type { App } from '../../model/app.ts';
import type { GivenMetalink } from '../../model/app-state.ts';
import { magnetsIn, readMagnet, readMetalinkAt } from '../../model/metalinks.ts';
import { useApp } from '../common/context.tsx';

const TYPING_MS = 400;
/** Most documents that are fetched. */
const MAX_URLS = 20;

interface Read {
  readonly magnet: string;
  readonly document: GivenMetalink | undefined;
  /** Why it cannot be used. */
  readonly problem: string | undefined;
}

export interface Magnets {
  readonly documents: readonly GivenMetalink[];
  /** URLs of documents that have been read: their files are offered in their place. */
  readonly replaced: ReadonlySet<string>;
  readonly problems: readonly string[];
  readonly reading: boolean;
}

/**
 * Reads each link once, while it stays in the text.
 *
 * @param urls of Metalink documents and torrents
 */
export function useMagnets(typed: string, urls: readonly string[]): Magnets {
  const app = useApp();
  const [read, setRead] = useState<readonly Read[]>([]);
  const magnets = [...magnetsIn(typed), ...urls.slice(0, MAX_URLS)];
  const key = magnets.join('\n');
  useEffect(() => {
    let wanted = true;
    const links = key === '' ? [] : key.split('\n');
    const ask = async () => {
      for (const magnet of links) {
        if (read.some((one) => one.magnet === magnet)) continue;
        const one = await attempt(app, magnet);
        if (!wanted) return;
        setRead((before) => [...before.filter((other) => other.magnet !== magnet), one]);
      }
    };
    // People type or paste a link; a half-typed one must not be fetched.
    const timer = setTimeout(() => void ask(), TYPING_MS);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [app, key, read]);
  const here = read.filter(({ magnet }) => magnets.includes(magnet));
  return {
    replaced: new Set(here.flatMap(({ magnet, document }) => (document ? magnet : []))),
    documents: here.flatMap(({ document }) => document ?? []),
    problems: here.flatMap(({ problem }) => problem ?? []),
    reading: here.length < magnets.length,
  };
}

async function attempt(app: App, magnet: string): Promise<Read> {
  try {
    return { magnet, document: await readDescribed(app, magnet), problem: undefined };
  } catch (error) {
    return { magnet, document: undefined, problem: app.reason(error) };
  }
}

function readDescribed(app: App, link: string): Promise<GivenMetalink> {
  return /^magnet:/i.test(link) ? readMagnet(app, link) : readMetalinkAt(app, link);
}
