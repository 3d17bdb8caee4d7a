/** The sign and the bar of a row in a list of downloads, in the colour of its state. */

import { Icon } from './icons.tsx';

/** Each is also the name of its icon, and the class of its colour. */
export type Tone = 'active' | 'queued' | 'paused' | 'done' | 'failed';

export function RowIcon({ tone }: { tone: Tone }) {
  return (
    <span className={`row-icon ${tone}`} role="gridcell">
      <Icon name={tone} />
    </span>
  );
}

interface BarProps {
  /** Of the file, from 0 to 1; undefined where its length is not known. */
  readonly share: number | undefined;
  readonly tone: Tone;
  /** Its bytes come: without a length that is shown as a movement. */
  readonly isRunning: boolean;
}

export function Bar({ share, tone, isRunning }: BarProps) {
  if (share === undefined) {
    return <span className={`bar ${isRunning ? 'unknown' : tone}`}>{isRunning && <span />}</span>;
  }
  return (
    <span className={`bar ${tone}`}>
      <span style={{ transform: `scaleX(${share})` }} />
    </span>
  );
}
