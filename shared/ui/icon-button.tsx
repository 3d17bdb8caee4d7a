/** A button that shows only an icon. */

import type { ButtonHTMLAttributes } from 'react';
import { Icon, type IconName } from './icons.tsx';

interface IconButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'name'> {
  readonly name: IconName;
  /** Names the action, in the tooltip and for screen readers. */
  readonly label: string;
  /** The object of the action, if there are several on the page; only for screen readers. */
  readonly of?: string;
  /** Size of the icon, in pixels. */
  readonly size?: number;
  /** True for a button as high as a field. */
  readonly isLarge?: boolean;
}

export function IconButton(props: IconButtonProps) {
  const { name, label, of, size, isLarge = false, className = '', ...button } = props;
  return (
    <button
      type="button"
      className={`icon-button ${isLarge ? '' : 'small'} ${className}`}
      aria-label={of === undefined ? label : `${label}: ${of}`}
      title={label}
      {...button}
    >
      <Icon name={name} size={size} />
    </button>
  );
}
