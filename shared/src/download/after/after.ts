/**
 * Decides what happens to a complete file: which actions, in which order, and what the failure of one
 * means for the others. No failure of an action changes the download, which stays complete.
 */

import type { Millis } from '../../base/clock.ts';
import type { Particulars } from '../../base/error-table/particulars.ts';

/** All actions, in the order in which they are carried out. */
export const AFTER_ACTIONS = ['move', 'extract', 'run', 'open', 'webhook'] as const;
export type AfterAction = (typeof AFTER_ACTIONS)[number];

/**
 * waiting: its turn has not come, or a webhook is tried again at `retryAt`. interrupted: the daemon
 * ended during it, so it may have been carried out in part, or in whole; it is not repeated.
 */
export const AFTER_STATES = [
  'waiting',
  'running',
  'done',
  'failed',
  'skipped',
  'interrupted',
] as const;
export type AfterState = (typeof AFTER_STATES)[number];

/** The actions that a user has chosen, for one download or for a rule. */
export interface AfterChoice {
  /** Folder to move the file to: absolute, or relative to the download folder. */
  readonly move?: string | undefined;
  /** Extract an archive into a folder of its own beside it. */
  readonly extract?: boolean | undefined;
  /** Name of a command that the user has set up on this machine. */
  readonly run?: string | undefined;
  /** Open the file with the program that the system has for it. */
  readonly open?: boolean | undefined;
  /** Tell the webhook of the settings. */
  readonly webhook?: boolean | undefined;
}

/** A rule of the settings: the actions of all downloads of a category. */
export interface AfterRule extends AfterChoice {
  /** Name of the category; undefined: of all downloads that no other rule is for. */
  readonly category?: string | undefined;
}

/** One action of one download, and how far it is. */
export interface AfterStep {
  readonly action: AfterAction;
  readonly state: AfterState;
  /** Folder of a move, name of a command. */
  readonly with?: string | undefined;
  /** Result, or the reason of a failure: at most `MAX_DETAIL_CHARS` characters. */
  readonly detail?: string | undefined;
  /** The reason as data, for other languages than English. */
  readonly particulars?: Particulars | undefined;
  /** Code of the error of a failed action. */
  readonly error?: string | undefined;
  /** Attempts so far that failed, or that the end of the daemon interrupted. */
  readonly attempts?: number | undefined;
  /** Unix milliseconds. */
  readonly retryAt?: Millis | undefined;
}

/** Most rules: one for each category, and one for all others. */
export const MAX_RULES = 101;

/** Longest detail that is kept of an action, characters. */
export const MAX_DETAIL_CHARS = 2000;

/**
 * Returns the actions of a download: its own choice if there is one, even an empty one; else the rule of
 * its category, else the rule for all others.
 */
export function choiceFor(
  own: AfterChoice | undefined,
  category: string | undefined,
  rules: readonly AfterRule[],
): AfterChoice {
  if (own !== undefined) return own;
  const named = category === undefined ? undefined : rules.find((r) => r.category === category);
  return named ?? rules.find((rule) => rule.category === undefined) ?? {};
}

/** Returns the steps of a choice in their order; undefined if there are none. */
export function stepsOf(choice: AfterChoice): readonly AfterStep[] | undefined {
  const steps = AFTER_ACTIONS.flatMap((action): AfterStep[] => {
    const given = choice[action];
    if (given === undefined || given === false || given === '') return [];
    return [{ action, state: 'waiting', ...(given === true ? {} : { with: given }) }];
  });
  return steps.length === 0 ? undefined : steps;
}

/** Returns true while an action has not ended. */
export function isOpen(steps: readonly AfterStep[] | undefined): boolean {
  return steps?.some(({ state }) => state === 'waiting' || state === 'running') ?? false;
}

/** Returns true if an action has begun. */
export function haveBegun(steps: readonly AfterStep[] | undefined): boolean {
  return steps?.some(({ state, attempts = 0 }) => state !== 'waiting' || attempts > 0) ?? false;
}

/** Actions that are repeated after the daemon has ended during them: once more does no harm. */
const REPEATED: ReadonlySet<AfterAction> = new Set(['move', 'extract']);
/** Most attempts at an action on files: an archive that brings the daemon down must not do so for ever. */
const MAX_ATTEMPTS = 3;

/**
 * Returns the steps as the start of a daemon finds them. A step that ran when the last daemon ended is
 * carried out again if that is harmless. A command may do anything, so it runs at most once; the same
 * goes for the opening of a file, which a user would not expect long after.
 */
export function afterRestart(steps: readonly AfterStep[]): readonly AfterStep[] {
  return steps.map((step) => {
    if (step.state !== 'running') return step;
    if (step.action === 'webhook') return { ...step, state: 'waiting' };
    const attempts = (step.attempts ?? 0) + 1;
    const isRepeated = REPEATED.has(step.action) && attempts < MAX_ATTEMPTS;
    return { ...step, state: isRepeated ? 'waiting' : 'interrupted', attempts };
  });
}

/** Actions that need the earlier ones: they would act on a file that is not where the user wants it. */
const NEEDS_EARLIER: ReadonlySet<AfterAction> = new Set(['run', 'open']);

export type NextStep =
  | { readonly kind: 'run' | 'skip'; readonly index: number }
  | { readonly kind: 'wait'; readonly until: Millis }
  | undefined;

/**
 * Decides what to do next.
 *
 * @param now Unix milliseconds
 * @returns undefined if all actions have ended
 */
export function nextStep(steps: readonly AfterStep[], now: Millis): NextStep {
  const index = steps.findIndex(({ state }) => state === 'waiting');
  const step = steps[index];
  if (step === undefined) return undefined;
  if (step.retryAt !== undefined && step.retryAt > now)
    return { kind: 'wait', until: step.retryAt };
  const broken = steps
    .slice(0, index)
    .some(({ state }) => state === 'failed' || state === 'interrupted');
  return { kind: broken && NEEDS_EARLIER.has(step.action) ? 'skip' : 'run', index };
}

/** Returns the steps with a changed one. The detail is cut to its longest length. */
export function withStep(
  steps: readonly AfterStep[],
  index: number,
  change: Partial<AfterStep>,
): readonly AfterStep[] {
  return steps.map((step, at) => {
    if (at !== index) return step;
    const { particulars, error } = change;
    const detail = change.detail?.slice(0, MAX_DETAIL_CHARS);
    return { ...step, ...change, detail, particulars, error };
  });
}

/** Waits before a webhook is sent again, in milliseconds. The last failure ends the attempts. */
const RETRY_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000];

/** Returns when a webhook is sent again; undefined: not again. @param failures at least 1 */
export function webhookRetryAt(
  failures: number,
  now: Millis,
  random: () => number,
): Millis | undefined {
  const wait = RETRY_MS[failures - 1];
  // Spread over a fifth, so that many webhooks that failed together do not come together again.
  return wait === undefined ? undefined : Math.round(now + wait * (1 + 0.2 * random()));
}
