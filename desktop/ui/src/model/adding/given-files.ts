/** Reads files that the user has dropped or chosen for the dialog that adds downloads. */

import type { App } from '../app.ts';
import type { GivenMetalink } from '../app-state.ts';
import { isMetalinkName, readMetalinkFiles } from '../metalinks.ts';
import { MAX_TEXT_CHARS } from '../text-pieces.ts';

/** Names of the files that the dialog reads, as a file picker takes them. */
export const GIVEN_TYPES =
  '.txt,.list,.url,.urls,.webloc,.csv,.md,.htm,.html,.meta4,.metalink,.torrent,.exnode';

export interface GivenFiles {
  /** Text of the lists, such as one link a line. */
  readonly text: string;
  readonly metalinks: readonly GivenMetalink[];
}

/** Returns the links and documents of the dialog with those of other files added. */
export function withGiven(now: GivenFiles, more: GivenFiles): GivenFiles {
  const isBlank = now.text.trim() === '';
  return {
    text: more.text === '' ? now.text : isBlank ? more.text : `${now.text.trimEnd()}\n${more.text}`,
    metalinks: [...now.metalinks, ...more.metalinks],
  };
}

/**
 * Reads documents, and the texts of all other files, in which the daemon finds the links. Shows a
 * message for each file that cannot be read.
 */
export async function readGivenFiles(app: App, files: readonly File[]): Promise<GivenFiles> {
  const documents = files.filter(({ name }) => isMetalinkName(name));
  const metalinks = await readMetalinkFiles(app, documents);
  const texts: string[] = [];
  for (const file of files) {
    if (documents.includes(file)) continue;
    try {
      const text = await file.slice(0, MAX_TEXT_CHARS).text();
      // No text has this character, and almost every other file has it.
      if (text.includes('\0')) throw new Error(app.text.t('add.file.noText'));
      texts.push(text);
    } catch (error) {
      const why = app.reason(error);
      app.toast(app.text.t('add.metalink.bad', { name: file.name, why }), { kind: 'bad' });
    }
  }
  return { text: texts.join('\n'), metalinks };
}
