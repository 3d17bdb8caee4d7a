/** Passing messages, newest last. */

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: 'plain' | 'bad';
  /** Action that the message offers for as long as it is shown. */
  readonly action?: { readonly label: string; readonly run: () => void } | undefined;
}

const MAX_TOASTS = 3;

export function withToast(toasts: readonly Toast[], toast: Toast): readonly Toast[] {
  return [...toasts, toast].slice(-MAX_TOASTS);
}

export function withoutToast(toasts: readonly Toast[], id: number): readonly Toast[] {
  return toasts.filter((toast) => toast.id !== id);
}
