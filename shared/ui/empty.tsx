/** Message in place of a list: nothing yet, no match, failed, still loading. */

import type { ReactNode } from 'react';
import { Icon, type IconName } from './icons.tsx';

interface EmptyProps {
  /** Icon to show; undefined: the drawing of a mill race. */
  readonly icon?: IconName;
  readonly title: string;
  readonly children: ReactNode;
}

export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div className="empty">
      {icon === undefined ? <Stream /> : <Icon name={icon} size={36} />}
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Draws many small streams that become one. Pages may make it smaller in their styles. */
function Stream() {
  return (
    <svg className="stream" width="220" height="96" viewBox="0 0 220 96" aria-hidden="true">
      <path d="M4 14C60 14 70 46 118 46h98" />
      <path d="M4 36c46 0 58 12 104 12h108" />
      <path d="M4 60c46 0 58-10 104-10h108" />
      <path d="M4 82c56 0 66-30 114-30h98" />
      <circle cx="166" cy="49" r="26" />
      <path className="spokes" d="M166 23v52M140 49h52M148 31l36 36M184 31l-36 36" />
    </svg>
  );
}

interface LoadingProps {
  readonly label: string;
  readonly rows: number;
  /** True if the rows have an element at their end as well. */
  readonly end?: boolean;
}

/** Draws the shapes of rows, so that the layout does not jump when the rows appear. */
export function Loading({ label, rows, end = false }: LoadingProps) {
  return (
    <div className="loading" role="status">
      <span className="hidden">{label}</span>
      {Array.from({ length: rows }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: shapes without identity.
        <div key={i} className="ghost" style={{ opacity: 1 - i / rows }}>
          <span />
          <span style={{ width: `${35 + ((i * 37) % 40)}%` }} />
          {end && <span />}
        </div>
      ))}
    </div>
  );
}
