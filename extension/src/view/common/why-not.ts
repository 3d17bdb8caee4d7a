/** Text for the user when the background has refused a request. */

import type { Text } from '../../text/text.ts';
import { BackgroundError } from './background.ts';

/**
 * Returns the reason for a failed request.
 *
 * @throws all errors but those of the background, as they are faults of the page
 */
export function whyNot(text: Text, error: unknown): string {
  if (!(error instanceof BackgroundError)) throw error;
  if (!error.answered) return text.t('failed.silent');
  return text.t('failed.why', { why: error.message });
}
