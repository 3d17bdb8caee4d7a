/** A button that is an icon alone. */

import type { ButtonHTMLAttributes } from 'react';
import { Icon, type IconName } from './icons.tsx';

interface IconButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'name'> {
  readonly name: IconName;
  /** Names the action, in the tooltip and for screen readers. */
  readonly label: string;
  /** The thing that it does it to, where there are several of them. */
  readonly of?: string;
  /** Of the icon, in pixels. */
  readonly size?: number;
  /** The button is as high as a field. */
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
