/**
 * The contract of the daemon's own methods, by name: each takes one object of parameters and gives
 * one result. The types of server and clients and the OpenRPC document are made from it. Errors are
 * JSON-RPC errors; those of the table of errors carry `FailureData` in `data`.
 *
 * Calls on a WebSocket are answered in order; notifications between them are as new as the answers.
 */

import { ADDING_ROWS } from './adding-rows.ts';
import { AFTER_ROWS } from './after-rows.ts';
import { CONNECTION_ROWS } from './connection-rows.ts';
import { DEVICE_ROWS } from './device-rows.ts';
import { DOWNLOAD_ROWS } from './download-rows.ts';
import { EDGE_ROWS } from './edge-rows.ts';
import { EXCHANGE_ROWS } from './exchange-rows.ts';
import { LIST_ROWS } from './list-rows.ts';
import { OFFER_ROWS } from './offer-rows.ts';
import type { Given, Gives } from './row.ts';
import { SETTINGS_ROWS } from './settings-rows.ts';
import { SHARE_ROWS } from './share-rows.ts';
import { TRASH_ROWS } from './trash-rows.ts';

export const CONTRACT = {
  ...ADDING_ROWS,
  ...LIST_ROWS,
  ...DOWNLOAD_ROWS,
  ...TRASH_ROWS,
  ...EXCHANGE_ROWS,
  ...SETTINGS_ROWS,
  ...AFTER_ROWS,
  ...EDGE_ROWS,
  ...SHARE_ROWS,
  ...OFFER_ROWS,
  ...CONNECTION_ROWS,
  ...DEVICE_ROWS,
};

type Contract = typeof CONTRACT;

export type MethodName = keyof Contract;
/** Parameters as a client sends them. */
export type ParamsOf<M extends MethodName> = Given<Contract[M]>;
/** The parameters as an argument, which is optional if all of them are. */
export type ParamsIf<M extends MethodName> =
  Record<never, never> extends ParamsOf<M> ? [params?: ParamsOf<M>] : [params: ParamsOf<M>];
/** Result as a client gets it. */
export type ResultOf<M extends MethodName> = Gives<Contract[M]>;
