/** Preloaded by a test: when the process exits, writes the names of the packages that it has loaded to the file $LOADED_PACKAGES. */
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const packages = new Set();
registerHooks({
  load(url, context, next) {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
    if (name) packages.add(name);
    return next(url, context);
  },
});
process.once('exit', () => writeFileSync(process.env.LOADED_PACKAGES, [...packages].join('\n')));
