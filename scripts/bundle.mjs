/** Bundles programs to plain JavaScript: Node does not run TypeScript inside node_modules. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(join(root, 'desktop', 'package.json'));

/** Programs of a person's own machine, by the name of their bundles. They have most code in common. */
export const COMMANDS = {
  millrace: 'desktop/cli/main.ts',
  daemon: 'desktop/engine/daemon/main.ts',
  'hash-worker': 'desktop/engine/hash/hash-worker.ts',
  'stripe-worker': 'desktop/engine/upload/stripe-worker.ts',
  'search-worker': 'desktop/engine/reuse/search-worker.ts',
  'pac-worker': 'desktop/engine/proxy/pac-worker.ts',
  'native-host': 'desktop/native-host/main.ts',
};

/** Libraries of native code by the package that uses them: they stay out of bundles. */
export const NATIVE = { '@node-rs/xxhash': 'desktop', koffi: 'edge' };

/** CommonJS libraries need `require`. */
const REQUIRE =
  "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);";

/**
 * Bundles programs into one folder, without folders below it.
 *
 * @param programs source of each program by the name of its bundle, from the root of the repository
 * @param places what the sources find beside themselves, by its path from the root: its path in the
 *   package, from the folder of the bundles. Programs need not be among them
 * @param options further options of esbuild
 * @returns esbuild's result, with a metafile
 * @throws Error if a source names a file that has no place
 */
export async function bundle(folder, programs, places = {}, options = {}) {
  const own = Object.entries(programs).map(([name, source]) => [source, `./${name}.mjs`]);
  const { build } = require('esbuild');
  const result = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(
      Object.entries(programs).map(([name, source]) => [name, join(root, source)]),
    ),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    // Optional helpers of `ws`, which is used without them.
    external: ['bufferutil', 'utf-8-validate', ...(options.external ?? [])],
    // Native code, for the system of this build: copied beside the bundle.
    loader: { '.node': 'copy', '.wasm': 'file' },
    assetNames: '[name]',
    banner: { js: REQUIRE },
    plugins: [
      leavesOutUnused(),
      leavesOutForge,
      findsFiles({ ...Object.fromEntries(own), ...places }),
      knowsProcess,
    ],
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    ...options.esbuild,
    write: false,
  });
  for (const file of result.outputFiles) file.contents = withoutUnusedRequire(file);
  if (options.esbuild?.write !== false) writeAll(result.outputFiles);
  return result;
}

/**
 * Takes the function `require` out of a part of a bundle that does not call it. A command loads a
 * hundred parts, and making as many functions was a tenth of the start of a download.
 */
function withoutUnusedRequire({ path, contents }) {
  if (!path.endsWith('.mjs')) return contents;
  const text = Buffer.from(contents).toString();
  const rest = text.replace(REQUIRE, '');
  return /\brequire\b/.test(rest) ? contents : Buffer.from(rest.trimStart());
}

function writeAll(files) {
  for (const { path, contents } of files) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, contents);
  }
}

/**
 * Libraries of a library that nothing here calls. They are CommonJS, which esbuild keeps whole unless it is told that
 * they do nothing when they are loaded. `pac-resolver` rewrites scripts with `degenerator`, which brings a parser; only
 * its functions for scripts are used.
 */
const UNUSED = /^degenerator$/;

function leavesOutUnused() {
  return {
    name: 'leaves-out-unused',
    setup({ onResolve, resolve: find }) {
      onResolve({ filter: UNUSED }, async ({ path, pluginData, ...rest }) => {
        if (pluginData === UNUSED) return undefined;
        const { kind, importer, namespace, resolveDir } = rest;
        const found = await find(path, {
          kind,
          importer,
          namespace,
          resolveDir,
          pluginData: UNUSED,
        });
        return { ...found, sideEffects: false };
      });
    },
  };
}

/**
 * Leaves the former cryptography of `acme-client` out, which brings 0.4 MB of `node-forge`. The library only offers it
 * to its callers, none of which is here, and uses Node's cryptography itself.
 */
const leavesOutForge = {
  name: 'leaves-out-forge',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^[.][/]crypto[/]forge$/ }, ({ importer, path }) =>
      importer.includes('acme-client') ? { path, namespace: 'nothing' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'nothing' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/**
 * Gives libraries that import `node:process` the global object instead. Node would read all of its
 * properties, one of which lists all options of Node: a sixth of the start of a small program.
 */
const knowsProcess = {
  name: 'knows-process',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^node:process$/ }, ({ kind, path }) =>
      kind === 'import-statement' ? { path, namespace: 'global' } : undefined,
    );
    onLoad({ filter: /^node:process$/, namespace: 'global' }, () => ({
      contents: 'export default globalThis.process;',
    }));
  },
};

/** Has our sources find in the package what they find beside themselves in the repository. */
function findsFiles(places) {
  return {
    name: 'finds-files',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (relative(root, path).includes('node_modules')) return undefined;
        const source = readFileSync(path, 'utf8');
        if (!source.includes('import.meta.')) return undefined;
        return { contents: withPlaces(source, path, places), loader: 'ts' };
      });
    },
  };
}

const QUOTED = "\\(\\s*'([^']+)'";

function withPlaces(source, path, places) {
  const placeOf = (target) => {
    const file = relative(root, target).replaceAll('\\', '/');
    if (places[file] === undefined) throw new Error(`${path} names ${file}, which has no place`);
    return `new URL('${places[file]}', import.meta.url)`;
  };
  const contents = source
    .replace(new RegExp(`new URL${QUOTED}, import\\.meta\\.url\\)`, 'g'), (_all, target) =>
      placeOf(resolve(dirname(path), target)),
    )
    .replace(new RegExp(`import\\.meta\\.resolve${QUOTED}\\)`, 'g'), (_all, name) => {
      // esbuild copies the file beside the bundle, and names it.
      if (name.endsWith('.wasm')) return `new URL(require('${name}'), import.meta.url).href`;
      const found = createRequire(path).resolve(name);
      return `${placeOf(found)}.href`;
    })
    // Calls of a `require` that esbuild knows are bundled; others would look for a package.
    .replace(/^const require = createRequire\(import\.meta\.url\);$/m, '')
    .replaceAll('createRequire(import.meta.url)(', 'require(');
  const known = contents.replace(/new URL\((?:require\()?'[^']+'\)?, import\.meta\.url\)/g, '');
  const unknown = /.*import\.meta\..*/.exec(known)?.[0];
  if (unknown !== undefined) throw new Error(`${path}: a bundle cannot follow ${unknown.trim()}`);
  return contents;
}
