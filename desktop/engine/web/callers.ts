/** Callers from other machines, as the methods see them. */

export interface RemoteCaller {
  readonly id: string;
  readonly kind: 'browser' | 'device';
  /** Key of the account, if there is one. */
  readonly account: string | undefined;
}

/** A connection from another machine. */
export interface RemoteAccess {
  /** Caller that a cookie or a field has shown; undefined: nobody yet. */
  readonly caller: RemoteCaller | undefined;
  /** Recognises a device by its token, as clients of aria2 send it with each call. */
  byToken(token: string): RemoteCaller | undefined;
}
