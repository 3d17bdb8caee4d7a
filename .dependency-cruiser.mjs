/**
 * Table of the rooms that each room may import from. Imports never go in circles, neither those of
 * files nor those of rooms. A room is a folder. `npm run lint` holds the code to this.
 */

const SHARED = 'shared/src';

/** For each part of the house, the parts that it may import from, itself aside. */
const PARTS = {
  [`${SHARED}/base`]: [],
  [`${SHARED}/schema`]: [],
  [`${SHARED}/text`]: [`${SHARED}/base`],
  [`${SHARED}/http`]: [`${SHARED}/base`],
  [`${SHARED}/cdn`]: [`${SHARED}/(base|http)`],
  [`${SHARED}/house`]: [`${SHARED}/(base|http)`],
  [`${SHARED}/code`]: [],
  [`${SHARED}/exnode`]: [`${SHARED}/(base|code|http|schema)`],
  [`${SHARED}/download`]: [
    `${SHARED}/(base|http)`,
    `${SHARED}/cdn/routing/hrw[.]ts`,
    `${SHARED}/text/wildcards[.]ts`,
  ],
  [`${SHARED}/reuse`]: [`${SHARED}/base`],
  [`${SHARED}/sync`]: [
    `${SHARED}/(base|http|schema)`,
    `${SHARED}/cdn/routing/hrw[.]ts`,
    `${SHARED}/download/request/harmful-name[.]ts`,
  ],
  [`${SHARED}/share`]: [`${SHARED}/base`],
  [`${SHARED}/bridge`]: [`${SHARED}/(base|download)`],
  'shared/node': [`${SHARED}/(base|code|house|http)`],
  'shared/testing': [SHARED],
  'shared/style': [],
  'shared/ui': [`${SHARED}/base`, 'shared/style'],
  'edge/src': [
    `${SHARED}/(base|http|cdn|code|exnode|house|download/(request|metalink)|bridge|schema)`,
    'shared/(node|style)',
  ],
  'desktop/local': [`${SHARED}/base`],
  'desktop/client': [`${SHARED}/(base|bridge)`, 'desktop/(local|engine/rpc/calls)'],
  'desktop/engine': [SHARED, 'shared/node', 'desktop/local'],
  'desktop/native-host': [`${SHARED}/(base|bridge|download)`, 'desktop/(local|client)'],
  'desktop/shell': [`${SHARED}/(base|bridge|download|text)`, 'desktop/(local|native-host)'],
  'desktop/cli': [SHARED, 'shared/node', 'desktop/(local|client|engine|native-host)'],
  'desktop/ui': [`${SHARED}/(base|bridge|text|share)`, 'shared/(style|ui)'],
  'extension/src': [
    `${SHARED}/(base|http|download|bridge|schema|text)`,
    `${SHARED}/cdn/routing/hrw[.]ts`,
    `${SHARED}/remote/browser-name[.]ts`,
    'shared/(style|ui)',
  ],
};

const PACKAGES = '^(shared|edge|desktop|extension)/';
const TESTS = '[.]test[.]tsx?$';
/** Rooms that only tests use. */
const TESTING = '(^|/)testing/';

const parts = Object.entries(PARTS).map(([part, may]) => ({
  name: `imports-of-${part.replaceAll('/', '-')}`,
  comment: `${part} imports from nothing of ours but ${may.join(', ') || 'itself'}`,
  severity: 'error',
  from: { path: `^${part}/`, pathNot: [TESTS, TESTING] },
  to: {
    path: `${PACKAGES}|^(fuzz|e2e|scripts)/`,
    pathNot: [part, ...may].map((path) => `^${path}(/|$)`),
  },
}));

export default {
  forbidden: [
    {
      name: 'no-circle-of-files',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-circle-of-rooms',
      comment: 'Move what both need into a room below both.',
      severity: 'error',
      scope: 'folder',
      from: { path: PACKAGES },
      to: { circular: true },
    },
    {
      name: 'testing-is-for-tests',
      severity: 'error',
      from: { path: PACKAGES, pathNot: [TESTS, TESTING] },
      to: { path: TESTING },
    },
    ...parts,
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['node_modules', '/dist/', '[.]d[.]mts$', TESTS] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.mjs', '.js'],
    },
  },
};
