/** Errors of RPC methods in the form in which they are sent. */

import { asMillraceError, type MillraceError } from '@millrace/shared/base/errors';
import type { FailureData } from '@millrace/shared/bridge/rpc/daemon-api';
import { INVALID_PARAMS, type JsonRpcError, RpcError } from '@millrace/shared/bridge/rpc/json-rpc';

/** Makes an error in aria2's form, which always has code 1. */
export function aria2Error(message: string): RpcError {
  return new RpcError({ code: 1, message });
}

export const UNAUTHORIZED: JsonRpcError = { code: 1, message: 'Unauthorized' };

export function invalidParams(detail: string): RpcError {
  return new RpcError({ ...INVALID_PARAMS, message: `Invalid params: ${detail}.` });
}

/** Turns any thrown value into the error to send. */
export function toJsonRpcError(thrown: unknown): JsonRpcError {
  if (thrown instanceof RpcError) {
    const { code, message, data } = thrown;
    return data === undefined ? { code, message } : { code, message, data };
  }
  const error = asMillraceError(thrown);
  return { code: 1, message: error.message, data: failureData(error) };
}

function failureData({ code, detail, particulars, advice, row }: MillraceError): FailureData {
  const { retryable, exit } = row;
  const said = particulars === undefined ? {} : { particulars };
  return { code, detail, ...said, advice, retryable, exit };
}
