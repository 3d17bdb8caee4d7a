/** Decides which failures the injected faults explain. Pure. */

import type { Millis } from '@millrace/shared/base/clock';
import type { FaultKind } from './fault-plan.ts';

/** A fault from its beginning until everything that it struck works again. */
export interface FaultWindow {
  readonly kind: FaultKind;
  readonly target: number;
  readonly from: Millis;
  /** Infinity while it lasts. */
  readonly until: Millis;
}

/** Operations of a soak. */
export type Work = 'read' | 'get' | 'upload' | 'daemon' | 'browser';

/** An operation that has ended with an error. */
export interface Failure {
  readonly work: Work;
  /** An error's code, or what the client saw: `refused`, `broken-off`, `status-503`. */
  readonly code: string;
  readonly from: Millis;
  readonly until: Millis;
  /** Faults that can have struck the operation: of these kinds, at these targets. */
  readonly strikes: readonly Strike[];
  readonly detail: string;
}

/** A kind of fault, and its target where only one concerns the operation. */
export interface Strike {
  readonly kind: FaultKind;
  readonly target?: number | undefined;
}

/** Time for which a fault that is over may still show, as connections and caches outlive it. */
const AFTERMATH_MS = 10_000;

/** Codes that each kind of fault can cause. */
const CODES: Readonly<Record<FaultKind, RegExp>> = {
  'kill-edge':
    /^(?:refused|broken-off|stale|depot-unreachable|network-away|origin-(?:unreachable|refused|reset|timeout))$/,
  'stop-edge': /^(?:broken-off|stale|depot-unreachable|upload-too-slow|origin-(?:reset|timeout))$/,
  'change-file': /^(?:broken-off|file-changed|version-changed|different-file)$/,
  'fill-disk': /^(?:disk-full|file-not-writable|allocation-refused|status-507)$/,
  'kill-command': /^(?:file-exists|file-in-use)$/,
  'kill-daemon': /^(?:refused|broken-off|daemon-not-running|daemon-silent)$/,
  'kill-background': /^(?:broken-off|interrupted)$/,
};

/** Returns the fault that explains a failure: it struck the operation while that was under way. */
export function causeOf(failure: Failure, faults: readonly FaultWindow[]): FaultWindow | undefined {
  return faults.find(
    ({ kind, target, from, until }) =>
      from <= failure.until &&
      until + AFTERMATH_MS >= failure.from &&
      CODES[kind].test(failure.code) &&
      failure.strikes.some(
        (strike) => strike.kind === kind && (strike.target ?? target) === target,
      ),
  );
}

/** A version of a file, and from when until when the origin had it. */
export interface VersionLife {
  readonly digest: string;
  readonly from: Millis;
  /** Infinity for the present version. */
  readonly until: Millis;
}

/** Time for which an edge may take a version for current that has been replaced, after its life. */
const STALE_MS = 30_000;

/**
 * Judges a complete file that somebody fetched: `wrong` if no version has these bytes, `stale` if
 * the version was replaced long before.
 *
 * @param from beginning of the fetch
 */
export function judgeFile(
  digest: string,
  versions: readonly VersionLife[],
  from: Millis,
): 'right' | 'stale' | 'wrong' {
  const own = versions.filter((version) => version.digest === digest);
  if (own.length === 0) return 'wrong';
  return own.some(({ until }) => until + STALE_MS >= from) ? 'right' : 'stale';
}
