/** Draws clients' use of the edge, the limits, and the numbers of refusals. */

import { element } from './draw.js';
import { count, rate, size } from './words.js';

/**
 * @typedef {{ use?: number, limit?: number, perClient?: number, refused: number, delayed: number,
 *   evicted: number }} Resource
 * @typedef {{ resource: string, client: string, count: number, error: number }} Refused
 */

/** @type {Record<string, string>} */
const NAMES = {
  connections: 'Connections',
  requests: 'Requests for files per second',
  transfers: 'Transfers',
  rate: 'Bytes sent per second',
  fetched: 'Bytes fetched and not taken',
  origins: 'Origins in use',
  newOrigins: 'New origins per minute',
  originUse: 'Quotas and rates of origins',
  memory: 'Memory',
  ownRequests: 'Requests for the edge’s own pages',
  checks: 'Links checked for publishers',
  guesses: 'Wrong tokens',
  depotBytes: 'Depot: bytes kept',
  appends: 'Depot: uploads',
  pulls: 'Depot: files fetched for owners',
  capabilities: 'Depot: wrong links',
  dnsAnswers: 'DNS answers per second',
  dnsConnections: 'DNS connections',
};
/** Formats for all but plain numbers. @type {Record<string, (value: number) => string>} */
const UNITS = { memory: size, fetched: size, depotBytes: size, rate };
const HEADINGS = ['', 'In use', 'Most', 'Each client', 'Refused', 'Delayed', 'Cut off'];

/**
 * @param {Record<string, Resource>} admission by resource, in the order of the edge's table
 * @param {readonly Refused[]} refused the clients refused most
 */
export function admissionPanel(admission, refused) {
  const all = Object.entries(admission);
  const rows = all.filter(([, resource]) => saysSomething(resource));
  const isCalm = all.every(([, resource]) => refusals(resource) === 0);
  const quiet = all.length - rows.length;
  const heads = HEADINGS.map((text) => element('th', { scope: 'col' }, text));
  return [
    element(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-labelledby': 'admission-title' },
      element(
        'table',
        { class: 'takes figures' },
        element('thead', {}, element('tr', {}, heads)),
        element('tbody', {}, rows.map(resourceRow)),
      ),
    ),
    ...(quiet === 0
      ? []
      : [
          element(
            'p',
            { class: 'quiet' },
            `${count(quiet)} more ${quiet === 1 ? 'has no limit here, and has' : 'have no limit here, and have'} refused nobody.`,
          ),
        ]),
    ...(isCalm
      ? [element('p', { class: 'quiet' }, 'No client has been refused so far.')]
      : refusedClients(refused)),
  ];
}

/** @param {Resource} resource */
function refusals({ refused, delayed, evicted }) {
  return refused + delayed + evicted;
}

/** @param {Resource} resource */
function saysSomething(resource) {
  const { use, limit, perClient } = resource;
  const isMeasured = [use, limit, perClient].some((value) => value !== undefined);
  return isMeasured || refusals(resource) > 0;
}

/** @param {readonly Refused[]} refused */
function refusedClients(refused) {
  const rows = refused.map(({ resource, client, count: all, error }) =>
    element(
      'li',
      { 'data-client': client },
      element('span', { class: 'mono' }, client),
      // The part of a count that may be other clients' is left out.
      ` ${NAMES[resource] ?? resource}: ${count(all - error)}`,
    ),
  );
  return [
    element('h3', {}, 'Clients refused most'),
    element('ol', { class: 'refused' }, rows),
    element('p', { class: 'quiet' }, 'The latest refusals are at /-/refusals.'),
  ];
}

/** @param {[string, Resource]} row */
function resourceRow([name, { use, limit, perClient, refused, delayed, evicted }]) {
  const written = UNITS[name] ?? count;
  const amount = (/** @type {number | undefined} */ value) =>
    element('td', {}, value === undefined ? '–' : written(value));
  const times = (/** @type {number} */ value) =>
    element('td', value > 0 ? { class: 'some' } : {}, count(value));
  return element(
    'tr',
    { 'data-resource': name },
    element('th', { scope: 'row' }, NAMES[name] ?? name),
    amount(use),
    amount(limit),
    amount(perClient),
    times(refused),
    times(delayed),
    times(evicted),
  );
}
