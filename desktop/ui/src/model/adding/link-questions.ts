/** Questions to servers about links that are not added yet: which of them the dialog asks by itself. */

import type { AddRequest, FoundLink } from '@millrace/shared/bridge/rpc/adding-api';
import type { AppSettings, SettingsChange } from '@millrace/shared/bridge/rpc/settings-api';
import { type AddForm, FIRST_FORM, problemsOf, requestsOf } from './add-form.ts';

/** Most links that the dialog asks about without being told to. */
const FEW = 5;
/** Name of the preference; absent: the dialog asks. */
const ASKS = 'askLinks';

export interface LinkQuestion {
  readonly url: string;
  /** Equal for questions that have the same answer. */
  readonly key: string;
  readonly request: AddRequest;
}

/** Returns true if the user lets the dialog ask about pasted links by itself. */
export function asksByItself(settings: AppSettings | undefined): boolean {
  return settings !== undefined && settings.preferences[ASKS] !== false;
}

export function asksChange(on: boolean): SettingsChange {
  return { preferences: { [ASKS]: on ? null : false } };
}

/** Makes the question about each link that leads to a server, with what the form says of requests. */
export function questionsOf(links: readonly FoundLink[], form: AddForm): LinkQuestion[] {
  const { dir, headers, proxy } = form;
  return links
    .filter(({ exnode }) => !exnode)
    .flatMap((link) => {
      const [request] = requestsOf({ ...FIRST_FORM, dir, headers, proxy }, [link], false);
      if (request === undefined) return [];
      // Folder and edges change nothing about the answer.
      const { dir: _, useEdges: __, ...asked } = request;
      return [{ url: link.url, key: JSON.stringify(asked), request }];
    });
}

/**
 * Returns the questions that a dialog asks by itself: none about many links, or while the form has a
 * mistake, about links that work only once, or about descriptions, which are read as a whole.
 */
export function fewQuestions(links: readonly FoundLink[], form: AddForm): LinkQuestion[] {
  if (links.length > FEW || problemsOf(form, false).size > 0) return [];
  return questionsOf(
    links.filter(({ metalink, once }) => !metalink && once !== true),
    form,
  );
}
