/** Shows notifications of the system. */

import { Notification } from 'electron';

export interface NotifyText {
  readonly title: string;
  readonly body: string;
}

/** Notifications on display: one that is garbage-collected cannot be clicked. */
const shown = new Set<Notification>();
const MAX_SHOWN = 50;

/** Shows a notification where the desktop supports them. */
export function notify({ title, body }: NotifyText, icon: string, onClick: () => void): void {
  if (!Notification.isSupported()) return;
  const notification = new Notification({ title, body, icon });
  const forget = () => shown.delete(notification);
  notification.on('click', () => {
    forget();
    onClick();
  });
  notification.on('close', forget);
  shown.add(notification);
  if (shown.size > MAX_SHOWN) shown.delete([...shown][0] as Notification);
  notification.show();
}
