/** Runs the suites in `test/process` first, because they take longest. The last suite should be short: the other workers wait for it. */
import Sequencer from '@jest/test-sequencer';

export default class ProcessFirstSequencer extends Sequencer {
  sort(tests) {
    const sorted = Sequencer.prototype.sort.call(this, tests);
    return [...sorted.filter(startsProcesses), ...sorted.filter((test) => !startsProcesses(test))];
  }
}

function startsProcesses({ path }) {
  return path.includes('/test/process/');
}
