/** Replaces the library that keeps a page from scrolling below a dialog: our page never scrolls. */

import { cloneElement, type HTMLAttributes, isValidElement, type ReactNode, type Ref } from 'react';

interface RemoveScrollProps extends HTMLAttributes<HTMLElement> {
  readonly ref?: Ref<HTMLElement>;
  readonly as?: React.ElementType;
  readonly children?: ReactNode;
  readonly allowPinchZoom?: boolean;
  readonly shards?: unknown;
  readonly forwardProps?: boolean;
}

export function RemoveScroll(props: RemoveScrollProps) {
  const {
    as: Element,
    children,
    allowPinchZoom: _,
    shards: __,
    forwardProps: ___,
    ...rest
  } = props;
  if (Element !== undefined) return <Element {...rest}>{children}</Element>;
  return isValidElement(children) ? cloneElement(children, rest) : children;
}
