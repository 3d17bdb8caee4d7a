/** How people and devices of other machines log in to a daemon. */

/**
 * `POST` with JSON `PairRequest`: 200 and `Paired`, or 401, or 429 with Retry-After (seconds) after
 * wrong guesses. The token then stands in `Authorization: Bearer`.
 */
export const PAIR_PATH = '/pair';

/** A code of `millrace.pairingCode`, and a name by which people recognise the device. */
export interface PairRequest {
  readonly code: string;
  readonly name: string;
}

export interface Paired {
  readonly token: string;
}

/**
 * Field of answers of `SESSION_PATH` at a daemon's address for other machines: people log in there
 * with `AccountRequest` or `SharedCodeRequest`, not with the daemon's token.
 */
export const LOGIN_FIELD = 'millrace-login';
export const LOGIN_BY_ACCOUNT = 'account';

export interface AccountRequest {
  readonly name: string;
  readonly password: string;
}

/** Logs a browser in by a pairing code. */
export interface SharedCodeRequest {
  readonly pairingCode: string;
}
