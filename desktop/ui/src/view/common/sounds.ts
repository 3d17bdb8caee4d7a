/** Short sounds when a download ends, made by the browser itself. Off until the user switches them on. */

import type { Totals } from '@millrace/shared/bridge/rpc/list-api';
import type { AppSettings, SettingsChange } from '@millrace/shared/bridge/rpc/settings-api';

/** Name of the preference. */
const SOUNDS = 'sounds';

export type Sound = 'finished' | 'failed';

/** Tones of each sound, Hz, one after the other. */
const TONES = { finished: [659, 880], failed: [311, 233] } as const;
/** Length of a tone, seconds. */
const TONE_S = 0.14;
/** Loudness of a tone, 0 to 1. */
const GAIN = 0.12;

export function hasSounds(settings: AppSettings | undefined): boolean {
  return settings?.preferences[SOUNDS] === true;
}

export function soundsChange(on: boolean): SettingsChange {
  return { preferences: { [SOUNDS]: on ? true : null } };
}

/**
 * Returns the sound for a change of the totals; undefined if no download ended. Downloads that are
 * restored or imported end nothing: no unfinished download leaves its place for them.
 */
export function soundOf(before: Totals | undefined, now: Totals | undefined): Sound | undefined {
  if (before === undefined || now === undefined) return undefined;
  if (unfinished(now) >= unfinished(before)) return undefined;
  if (countOf(now, 'error') > countOf(before, 'error')) return 'failed';
  return countOf(now, 'complete') > countOf(before, 'complete') ? 'finished' : undefined;
}

/** Plays a sound, unless the browser or its user keeps the page silent. */
export async function play(sound: Sound): Promise<void> {
  const context = new AudioContext();
  try {
    await context.resume();
    const gain = context.createGain();
    gain.connect(context.destination);
    const tones = TONES[sound];
    const end = context.currentTime + tones.length * TONE_S;
    gain.gain.setValueAtTime(GAIN, context.currentTime);
    gain.gain.exponentialRampToValueAtTime(GAIN / 100, end);
    const oscillators: readonly OscillatorNode[] = tones.map((hertz, i) => {
      const oscillator = context.createOscillator();
      oscillator.frequency.value = hertz;
      oscillator.connect(gain);
      oscillator.start(context.currentTime + i * TONE_S);
      oscillator.stop(context.currentTime + (i + 1) * TONE_S);
      return oscillator;
    });
    await new Promise((resolve) =>
      oscillators[tones.length - 1]?.addEventListener('ended', resolve),
    );
  } finally {
    await context.close();
  }
}

function unfinished(totals: Totals): number {
  return (['active', 'queued', 'waiting'] as const).reduce(
    (sum, status) => sum + countOf(totals, status),
    0,
  );
}

function countOf({ byStatus }: Totals, status: keyof Totals['byStatus']): number {
  return byStatus[status] ?? 0;
}
