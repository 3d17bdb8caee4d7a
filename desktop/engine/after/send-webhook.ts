/** Sends messages to the webhook of the settings. */

import { createHmac } from 'node:crypto';
import { type Particulars, said } from '@millrace/shared/base/error-table/particulars';
import { signedText, signingKey } from '@millrace/shared/download/after/webhook';

/** Longest wait for an answer, in milliseconds; Standard Webhooks advises 15 to 30 seconds. */
const TIMEOUT_MS = 20_000;

export interface WebhookMessage {
  /** The same for each attempt. */
  readonly id: string;
  readonly body: string;
}

export interface WebhookResult {
  readonly kind: 'done' | 'again' | 'failed';
  readonly detail: string;
  /** The same as data; absent for words of the system. */
  readonly particulars?: Particulars;
}

/**
 * Sends a message once.
 *
 * @param at Unix milliseconds
 */
export async function sendWebhook(
  { url, secret }: { readonly url: string; readonly secret: string },
  { id, body }: WebhookMessage,
  at: number,
  signal: AbortSignal,
): Promise<WebhookResult> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Millrace',
        ...signedFields(id, Math.floor(at / 1000), body, secret),
      },
      // The message is meant for this address, and its user has named no other.
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    await response.body?.cancel();
    const why = said({ code: 'answer-was', values: { status: response.status } });
    if (response.ok) return { kind: 'done', ...why };
    // 410: the receiver wants no more messages.
    return { kind: response.status === 410 ? 'failed' : 'again', ...why };
  } catch (error) {
    const { cause, message, name } = error as Error & { cause?: NodeJS.ErrnoException };
    if (cause?.code === undefined && name === 'TimeoutError') {
      return { kind: 'again', ...said({ code: 'no-answer' }) };
    }
    return { kind: 'again', detail: cause?.code ?? message };
  }
}

function signedFields(id: string, seconds: number, body: string, secret: string) {
  const key = signingKey(secret);
  if (key === undefined) throw new Error('the secret of the webhook cannot be read');
  const signature = createHmac('sha256', key)
    .update(signedText(id, seconds, body))
    .digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signature}`,
  };
}
