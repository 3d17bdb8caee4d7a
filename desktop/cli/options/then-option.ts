/** Actions after a download, as words of the command line: `move=FOLDER`, `extract`, `run=NAME`. */

import {
  AFTER_ACTIONS,
  type AfterAction,
  type AfterChoice,
} from '@millrace/shared/download/after/after';
import { InvalidArgumentError } from 'commander';

/** Actions that need a value. */
const WITH_VALUE: ReadonlySet<AfterAction> = new Set(['move', 'run']);
const NOTHING = 'nothing';
/** Word for the actions that the settings name. */
export const SETTINGS = 'settings';

export const THEN_WORDS = 'move=FOLDER, extract, run=NAME, open, webhook, or "nothing"';

/**
 * Adds an action to those that were read before.
 *
 * @throws InvalidArgumentError if the word is no action
 */
export function thenValue(text: string, before: AfterChoice = {}): AfterChoice {
  if (text === NOTHING) return before;
  const [word = '', ...rest] = text.split('=');
  const value = rest.join('=');
  const action = AFTER_ACTIONS.find((one) => one === word);
  if (action === undefined || WITH_VALUE.has(action) !== (value !== '')) {
    throw new InvalidArgumentError(`one of ${THEN_WORDS} is needed`);
  }
  return { ...before, [action]: value === '' ? true : value };
}

/**
 * Reads a changed choice: as `thenValue` does, or the word for the actions of the settings.
 *
 * @throws InvalidArgumentError if the word is no action
 */
export function changedThen(
  text: string,
  before: AfterChoice | typeof SETTINGS = {},
): AfterChoice | typeof SETTINGS {
  if (text === SETTINGS) return SETTINGS;
  return thenValue(text, before === SETTINGS ? {} : before);
}

/** Returns the words of a choice, in the order of the actions. */
export function thenWords(choice: AfterChoice): string {
  const words = AFTER_ACTIONS.flatMap((action) => {
    const given = choice[action];
    if (given === undefined || given === false) return [];
    return given === true ? action : `${action}=${given}`;
  });
  return words.length === 0 ? NOTHING : words.join(', ');
}
