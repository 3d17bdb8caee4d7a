/** Notifications of the system. */

import { Notification } from 'electron';

export interface NotifyText {
  readonly title: string;
  readonly body: string;
}

/** Referred to until they have gone: a notification that is collected cannot be clicked. */
const shown = new Set<Notification>();
const MAX_SHOWN = 50;

/** Shows one where the desktop has notifications. */
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
