import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));

test('an ordinary edge starts without modules that only special ones need', async () => {
  const hook = `import { registerHooks } from 'node:module';
    import { writeSync } from 'node:fs';
    registerHooks({ load: (url, context, next) => (writeSync(2, url + '\\n'), next(url, context)) });`;
  const flags = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`];
  const child = spawn(process.execPath, [...flags, MAIN, '--port', '0']);
  let loaded = '';
  child.stderr.on('data', (text) => {
    loaded += text;
  });
  const ended = once(child, 'close');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  child.kill();
  await ended;
  expect(line).toMatch(/^Millrace edge .* listening on /);
  expect(loaded).toContain('/edge/src/app.ts');
  expect(loaded).not.toMatch(/node_modules\/(undici|yaml|ajv)\b/);
});
