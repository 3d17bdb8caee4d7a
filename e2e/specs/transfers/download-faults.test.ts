/** `millrace get` against every fault: the end that its class allows, no wrong byte, no hang. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { atATime } from '../../fixtures/at-a-time.ts';
import {
  ENDS,
  FAILURES,
  HARDER_THROUGH_AN_EDGE,
  OK,
  SLOW_THROUGH_AN_EDGE,
} from '../../fixtures/faults/fault-ends.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { classOf, FAULT_NAMES, UNSEEN_BY_EDGES, versionsOf } from '../../fixtures/faults/faults.ts';
import { filesIn, runWatched } from '../../fixtures/faults/faults-run.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';

const isStall = (fault: string) => fault.startsWith('stall-');

/** Returns true for faults that a download must overcome. */
function mustSucceed(way: Way, fault: string): boolean {
  const kind = classOf(fault);
  const sure = kind === 'harmless' || kind === 'recoverable';
  return sure && !(way.name === 'through-an-edge' && HARDER_THROUGH_AN_EDGE.has(fault));
}

/**
 * Returns time limits: long enough for a busy machine, short when waiting cannot help.
 *
 * @param factor on all of them
 */
function patience(way: Way, fault: string, factor = 1): string[] {
  const timeout = isStall(fault) ? 3 : 8;
  // A download that must succeed may take long: on a busy machine whatever is slow seems silent.
  const mayFail = classOf(fault) === 'fatal-alone' ? 2 : 10;
  const retryFor = mustSucceed(way, fault) ? 75 : mayFail;
  return ['--timeout', `${timeout * factor}s`, '--retry-for', `${retryFor * factor}s`];
}

const WATCHDOG_MS = 90_000;
/** Factor on the time limits of a second download, after one that took too long. */
const MORE_PATIENCE = 4;
const BYTES = 2_500_000;
/** Length of files whose source falls silent again and again: each time costs a time limit. */
const STALLING_BYTES = 1_000_000;
/** Most files that one program downloads in turn: its start takes longer than a file. */
const GROUP_SIZE = 16;
/** Programs that run at a time: most of them wait most of the time. */
const AT_A_TIME = 16;
/** Time limit of a test, in ms: the first one waits for the downloads queued before its own. */
const TEST_TIMEOUT_MS = 600_000;

const origin = await FaultOrigin.start();
const folder = await temporaryFolder();

const EDGE_OPTIONS = [
  ...['--allow-origin', '127.0.0.1', '--chunk-size', '256KiB', '--log-level', 'error'],
  ...['--origin-connections', '128', '--client-requests', '0'],
];
const patient = await EdgeProcess.start(EDGE_OPTIONS);
/** For origins that fall silent. On a busy machine, other origins would seem silent to it. */
const impatient = await EdgeProcess.start([...EDGE_OPTIONS, '--origin-timeout', '1500ms']);

afterAll(async () => {
  await Promise.all([patient.stop(), impatient.stop()]);
  await origin.stop();
  await folder.remove();
});

interface Way {
  readonly name: 'directly' | 'through-an-edge';
  readonly options: (fault: string) => readonly string[];
  /** True for faults that only a digest reveals: without one, nobody could notice wrong bytes. */
  readonly needsDigest: (fault: string) => boolean;
}

const isSilent = (fault: string) => classOf(fault) === 'silent';

const DIRECTLY: Way = { name: 'directly', options: () => [], needsDigest: isSilent };
const THROUGH_AN_EDGE: Way = {
  name: 'through-an-edge',
  options: (fault) => ['--edge', (isStall(fault) ? impatient : patient).url, '--edges-only'],
  // Edges neither pass on nor check digests of parts.
  needsDigest: (fault) =>
    isSilent(fault) || fault === 'bit-flips-digest' || UNSEEN_BY_EDGES.has(fault),
};

/** Outcome of a download. */
interface Outcome {
  readonly url: string;
  /** Names of the files that the download has left. */
  readonly names: readonly string[];
  /** Digest of the file under its final name, if there is one. */
  readonly digest: string | undefined;
  /** The error that the program has printed, if any. */
  readonly error:
    | {
        readonly exit: number;
        readonly code: string;
        readonly message: string;
        readonly advice: string;
      }
    | undefined;
}

/** Faults whose files one program downloads in one way, with the same options. */
interface Group {
  readonly way: Way;
  readonly faults: readonly string[];
}

/**
 * Groups faults that can share a program, because they have the same time limits. A fault that
 * needs a digest gets a program to itself.
 */
function inGroups(way: Way, faults: readonly string[]): Group[] {
  const alike = new Map<string, string[]>();
  for (const fault of faults) {
    const key = way.needsDigest(fault) ? fault : patience(way, fault).join(' ');
    alike.set(key, [...(alike.get(key) ?? []), fault]);
  }
  return [...alike.values()].flatMap((all) => {
    const count = Math.ceil(all.length / GROUP_SIZE);
    // Faults are dealt out in turn, because neighbours take long for the same reason.
    return Array.from({ length: count }, (_, i) => ({
      way,
      faults: all.filter((_, j) => j % count === i),
    }));
  });
}

/** Downloads the files of a group. @param factor on the time limits @returns the outcomes by fault */
async function download({ way, faults }: Group, factor = 1): Promise<Map<string, Outcome>> {
  const [first = ''] = faults;
  const dir = join(folder.path, `${way.name}-${first}-${factor}`);
  await mkdir(dir);
  const urls = faults.map((fault) => {
    const size = isStall(fault) ? STALLING_BYTES : BYTES;
    const seed = `${fault}-${way.name}-${factor}`;
    return origin.url(fault, { seed, size, name: `${fault}.bin` });
  });
  const digest = way.needsDigest(first)
    ? ['--checksum', `sha-256=${origin.digest(urls[0] as string)}`]
    : [];
  const args = ['get', ...urls, '-d', dir, '--json', ...patience(way, first, factor)];
  const { hung, stdout, stderr } = await runWatched([...args, ...digest, ...way.options(first)], {
    withinMs: WATCHDOG_MS * urls.length * factor,
  });
  if (hung) throw new Error(`${urls.join(' ')} hung\n${stdout}${stderr}`);
  const { names, digests } = await filesIn(dir);
  const lines = stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  return new Map(
    faults.map((fault, i) => {
      const name = `${fault}.bin`;
      const outcome = {
        url: urls[i] as string,
        names: names.filter((other) => other === name || other.startsWith(`${name}.`)),
        digest: digests.get(name),
        error: lines.find(({ event, url }) => event === 'error' && url === urls[i]),
      };
      return [fault, outcome];
    }),
  );
}

const throughAnEdge = FAULT_NAMES.filter((name) => !SLOW_THROUGH_AN_EDGE.has(name));
const groups = [...inGroups(DIRECTLY, FAULT_NAMES), ...inGroups(THROUGH_AN_EDGE, throughAnEdge)];
const downloads = atATime(AT_A_TIME, groups, (group) => download(group));

async function outcomeOf(way: Way, fault: string): Promise<Outcome> {
  const group = groups.find((group) => group.way === way && group.faults.includes(fault));
  const outcome = (await downloads.get(group as Group))?.get(fault);
  if (outcome === undefined) throw new Error(`nobody has downloaded ${fault} ${way.name}`);
  // An origin or edge may be slower than the limits where other programs take the processor.
  const { code, exit = OK } = outcome.error ?? {};
  const isExpected = way === DIRECTLY ? allowed(fault).includes(exit) : !mustSucceed(way, fault);
  if (code !== 'origin-timeout' || isExpected) return outcome;
  const again = await download({ way, faults: [fault] }, MORE_PATIENCE);
  return again.get(fault) as Outcome;
}

/** Demands one whole version of the file, or an error and nothing under the final name. */
function expectWholeOrNothing(fault: string, { url, digest, names, error }: Outcome): void {
  if (error !== undefined) {
    expect(digest).toBeUndefined();
    // The user gets a reason, and advice to act on.
    expect(error.message).toMatch(/\w{3,}/);
    expect(error.advice).toMatch(/\w{3,}.*\.$/);
    expect(error.message).not.toMatch(/inside Millrace/);
    return;
  }
  const isVersion = versionsOf(fault).some((version) => digest === origin.digest(url, version));
  const isEmpty = fault === 'empty' && digest === origin.digest(url.replace(/size=\d+/, 'size=0'));
  expect({ digest, isRight: isVersion || isEmpty }).toEqual({ digest, isRight: true });
  // Nothing but the file is left.
  expect(names).toEqual([`${fault}.bin`]);
}

function allowed(fault: string): readonly number[] {
  const kind = classOf(fault);
  if (kind === 'fatal-alone') return ENDS[fault] ?? [];
  if (kind === 'silent' || kind === 'either') return [OK, ...FAILURES];
  return [OK];
}

describe('directly', () => {
  test.each(FAULT_NAMES)(
    '%s',
    async (fault) => {
      const outcome = await outcomeOf(DIRECTLY, fault);
      expectWholeOrNothing(fault, outcome);
      const { error } = outcome;
      const isAllowed = allowed(fault).includes(error?.exit ?? OK);
      expect({ error, isAllowed }).toEqual({ error, isAllowed: true });
    },
    TEST_TIMEOUT_MS,
  );
});

describe('through an edge only', () => {
  test.each(throughAnEdge)(
    '%s',
    async (fault) => {
      const outcome = await outcomeOf(THROUGH_AN_EDGE, fault);
      expectWholeOrNothing(fault, outcome);
      const { error } = outcome;
      // Through an edge, which mends or hides faults, a download may turn out better than
      // directly, or be refused.
      if (mustSucceed(THROUGH_AN_EDGE, fault)) expect(error).toBeUndefined();
      else expect([OK, ...FAILURES]).toContain(error?.exit ?? OK);
    },
    TEST_TIMEOUT_MS,
  );
});

test('a file that is overwritten in place mixes no new bytes into the old version of a mirror', async () => {
  const options = { seed: 'overwritten-with-mirror', size: BYTES };
  const url = origin.url('overwritten-in-place', options);
  const dir = join(folder.path, 'overwritten-with-mirror');
  await mkdir(dir);
  const args = ['get', url, '--mirror', origin.url('none', options), '-d', dir];
  const result = await runWatched(args, { withinMs: WATCHDOG_MS });
  expect(result).toMatchObject({ hung: false, code: 0 });
  const { digests } = await filesIn(dir);
  expect([origin.digest(url, 1), origin.digest(url, 2)]).toContain(digests.get('file.bin'));
});
