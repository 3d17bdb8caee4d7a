/** A section of the options, with its heading. */

import type { ReactNode } from 'react';
import type { Settings } from '../../contract/settings.ts';
import type { Key } from '../../text/text.ts';
import { useText } from '../common/context.tsx';

export const SECTIONS = [
  ['taking', 'active'],
  ['hosts', 'link'],
  ['taker', 'integration'],
  ['remote', 'device'],
  ['edges', 'edge'],
  ['behaviour', 'keyboard'],
  ['permissions', 'check'],
] as const;

export type SectionName = (typeof SECTIONS)[number][0];

/** Properties of the sections of the options. */
export interface SectionProps {
  readonly settings: Settings;
  readonly save: (change: Partial<Settings>) => void;
}

export function Section({ name, children }: { name: SectionName; children: ReactNode }) {
  const text = useText();
  return (
    <section id={name} className="section" aria-labelledby={`${name}-title`}>
      <h2 id={`${name}-title`}>{text.t(`${name}.title` satisfies Key)}</h2>
      {children}
    </section>
  );
}
