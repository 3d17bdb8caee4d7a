/** Words for the reader when the background has refused a request. */

import type { Text } from '../../text/text.ts';
import { BackgroundError } from './background.ts';

/** @throws errors other than refusals of the background: faults of the page */
export function whyNot(text: Text, error: unknown): string {
  if (!(error instanceof BackgroundError)) throw error;
  if (!error.answered) return text.t('failed.silent');
  return text.t('failed.why', { why: error.message });
}
