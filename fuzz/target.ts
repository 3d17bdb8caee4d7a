/** Fuzz targets: a reader, its inputs, and the properties that must hold for every input. */

import fc from 'fast-check';
import { type ErrorCode, isMillraceError } from '../shared/src/base/errors.ts';
import { withoutEdits } from './mutate.ts';

/**
 * Number of cases that draws every seed of a target: none has more than a few dozen combinations.
 */
const SEED_DRAWS = 500;

/** One reader under test. */
export interface FuzzTarget {
  /** Words with hyphens; `--target` selects by it. */
  readonly name: string;
  /** Runs random cases; returns the first failure, minimised. */
  run(options: FuzzRun): Later<FuzzFailure | undefined>;
  /** Names of the long inputs, for reports. */
  readonly longCases: readonly string[];
  /** Checks one of the long inputs. @throws the property's error if it does not hold */
  runLong(name: string): Later<void>;
  /** True if the reader accepts any input as valid. */
  readonly takesAll: boolean;
  /** Tries the reader with the seeds, and with mutations of them. */
  trySeeds(seed: number): Promise<SeedReport>;
}

/** A value, or a promise of it if the reader is asynchronous. */
export type Later<T> = T | Promise<T>;

interface FuzzRun {
  /** Random cases to try, after the known failures. */
  readonly cases: number;
  readonly seed: number;
  /** Longest time of a case of an asynchronous reader, ms. */
  readonly timeout: number;
  /** Called before each case, for reports about a case that never ends. */
  readonly onCase?: (value: unknown) => void;
}

interface SeedReport {
  /** Seeds that should be valid, each once. */
  readonly tried: number;
  /** Seeds that the reader refused, as literals. */
  readonly refused: readonly string[];
  /** Mutated cases that the reader refused. */
  readonly refusedMutations: number;
}

/** Result of a check: `refused` if the reader refused the input. */
// biome-ignore lint/suspicious/noConfusingVoidType: a check that refuses nothing returns nothing.
export type Verdict = 'refused' | undefined | void;

export interface FuzzFailure {
  /** The minimised case as a JavaScript literal. */
  readonly literal: string;
  readonly error: unknown;
  /** Place of the case that failed first, counted from 1. */
  readonly after: number;
}

/** The type of an arbitrary's values: `cases` alone determines the type of a target's cases. */
type CaseOf<A> = A extends fc.Arbitrary<infer T> ? T : never;

export interface TargetOptions<A extends fc.Arbitrary<unknown>> {
  readonly name: string;
  /** Source of the cases. */
  readonly cases: A;
  /** Reads one case. Throws, or rejects, if a property does not hold. */
  readonly check: (value: CaseOf<A>) => Later<Verdict>;
  /** True if `check` returns a promise. */
  readonly asynchronous?: boolean;
  /** True if the reader refuses nothing. */
  readonly takesAll?: boolean;
  /** Returns true for valid unedited cases; default: all of them. */
  readonly sound?: (value: CaseOf<A>) => boolean;
  /** Cases that failed in an earlier version. Every run tries them first. */
  readonly found?: readonly CaseOf<A>[];
  /**
   * Inputs of about a megabyte, by name. Each has a time limit that is exceeded only by work that
   * grows faster than the input.
   */
  readonly long?: Readonly<Record<string, () => CaseOf<A>>>;
}

/**
 * Makes a target. The type of its cases stays inside, so that targets of all types fit into one
 * list.
 */
export function fuzzTarget<A extends fc.Arbitrary<unknown>>(options: TargetOptions<A>): FuzzTarget {
  const { name, cases, check, found = [], long = {}, takesAll = false } = options;
  const { sound = () => true, asynchronous = false } = options;
  return {
    name,
    longCases: Object.keys(long),
    runLong(which) {
      const make = long[which];
      if (make === undefined) throw new RangeError(`no long case "${which}"`);
      const checked = check(make());
      if (checked instanceof Promise) return checked.then(() => {});
    },
    takesAll,
    async trySeeds(seed) {
      const arbitrary = cases as fc.Arbitrary<CaseOf<A>>;
      const seeds = new Map<string, CaseOf<A>>();
      for (const one of withoutEdits(arbitrary, SEED_DRAWS, seed)) {
        if (sound(one)) seeds.set(keyOf(one), one);
      }
      const refused: string[] = [];
      for (const one of seeds.values()) {
        if ((await check(one)) === 'refused') refused.push(fc.stringify(one));
      }
      let refusedMutations = 0;
      for (const one of fc.sample(arbitrary, { numRuns: SEED_DRAWS, seed })) {
        if ((await check(one)) === 'refused') refusedMutations++;
      }
      return { tried: seeds.size, refused, refusedMutations };
    },
    run({ cases: numRuns, seed, onCase, timeout }) {
      const arbitrary = cases as fc.Arbitrary<CaseOf<A>>;
      const examples = found.map((value): [CaseOf<A>] => [value]);
      const run = { numRuns: numRuns + found.length, seed, examples };
      if (asynchronous) {
        const property = fc.asyncProperty(arbitrary, async (value) => {
          onCase?.(value);
          await check(value);
        });
        return fc.check(property, { ...run, timeout }).then(failureOf);
      }
      const property = fc.property(arbitrary, (value) => {
        onCase?.(value);
        check(value);
      });
      return failureOf(fc.check(property, run));
    },
  };
}

/** Returns a text that only equal cases have. A literal of bytes costs more than reading them. */
function keyOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : fc.stringify(value);
}

function failureOf<T>(result: fc.RunDetails<[T]>): FuzzFailure | undefined {
  if (!result.failed) return undefined;
  const literal = fc.stringify(result.counterexample?.[0]);
  return { literal, error: result.errorInstance, after: result.numRuns };
}

/**
 * Runs a reader that may refuse its input.
 *
 * @param codes error codes of a refusal
 * @returns the reader's result; undefined if it refused
 * @throws any other error: a finding
 */
export function readOrRefuse<T>(codes: readonly ErrorCode[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isMillraceError(error) && codes.includes(error.code)) return undefined;
    throw error;
  }
}

/** Runs a reader whose callers treat any error as a refusal. @returns undefined if it refused */
export function readOrThrow<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Throws if a property does not hold. */
export function hold(condition: boolean, property: string): asserts condition {
  if (!condition) throw new Error(`does not hold: ${property}`);
}

/** Throws if a relative path could leave its folder, or name something that is not a file in it. */
export function holdInside(path: string): void {
  const parts = path.split(/[/\\]/);
  hold(
    path !== '' && !parts.some((part) => part === '' || /^\.+$/.test(part)),
    'a path stays inside',
  );
  hold(!/^[a-z]:/i.test(path) && !/[\x00-\x1f\x7f]/.test(path), 'a path names a file');
}

/** Throws unless two values have the same JSON form. */
export function holdEqual(actual: unknown, expected: unknown, property: string): void {
  const [a, b] = [actual, expected].map((value) => JSON.stringify(value));
  if (a !== b)
    throw new Error(`does not hold: ${property}: ${a?.slice(0, 300)} is not ${b?.slice(0, 300)}`);
}

/**
 * Estimates the memory of plain data: the characters of its texts and names, and eight for each
 * value.
 */
export function weightOf(value: unknown): number {
  let weight = 0;
  const waiting = [value];
  while (waiting.length > 0) {
    const one = waiting.pop();
    weight += 8;
    if (typeof one === 'string') weight += one.length;
    else if (ArrayBuffer.isView(one)) weight += one.byteLength;
    else if (one instanceof Map) waiting.push(...one.keys(), ...one.values());
    else if (Array.isArray(one) || one instanceof Set) for (const item of one) waiting.push(item);
    else if (typeof one === 'object' && one !== null) {
      for (const [key, item] of Object.entries(one)) {
        weight += key.length;
        waiting.push(item);
      }
    }
  }
  return weight;
}
