/**
 * Tells another node the purges of a file's labels. The labels are known only with its answer, which
 * may be older than a purge of one of them: then the node is told the purge, and asked once more.
 */

import { LRUCache } from 'lru-cache';
import type { Purges } from '../cache/purges.ts';
import type { RemoteVersion } from './version-message.ts';

/** Most files of which a purge of a label is remembered; about others nodes are asked twice. */
const MAX_FILES = 5000;

export class LabelPurges {
  readonly #purges: Purges | undefined;
  /** Newest purges of labels of files, as nodes are told them, by URL. */
  readonly #known = new LRUCache<string, string>({ max: MAX_FILES });

  constructor(purges: Purges | undefined) {
    this.#purges = purges;
  }

  /**
   * Asks a node about a file.
   *
   * @param question asks the node, and tells it purges that its answer must be newer than
   * @throws as `question`
   */
  async ask(
    url: string,
    question: (told: string | undefined) => Promise<RemoteVersion>,
  ): Promise<RemoteVersion> {
    const ofUrl = this.#purges?.told(url, undefined);
    const known = this.#known.get(url);
    const answer = await question(joined(ofUrl, known));
    if (answer.kind !== 'file') return answer;
    const newest = this.#purges?.toldOfLabels(answer.pointer.version.fields);
    if (newest === undefined || newest === known) return answer;
    this.#known.set(url, newest);
    return question(joined(ofUrl, newest));
  }
}

function joined(...purges: readonly (string | undefined)[]): string | undefined {
  const told = purges.filter((text) => text !== undefined);
  return told.length === 0 ? undefined : told.join(' ');
}
