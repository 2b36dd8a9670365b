import { DemoStory, type Stage } from './demo.story.js';
import { SeededRandom } from './random.js';

/** The scenes of a loop. They are not played, so the stage needs only its random numbers. */
function scenesOf(seed: number): unknown {
  const story = new DemoStory({ random: new SeededRandom(seed) } as unknown as Stage, 1);
  return story.tracks.flat().map(({ at, title }) => ({ at, title }));
}

describe('the story of the demo', () => {
  it('is the same for the same seed, and differs between seeds', () => {
    expect(scenesOf(7)).toEqual(scenesOf(7));
    const stories = new Set(Array.from({ length: 20 }, (_, seed) => JSON.stringify(scenesOf(seed))));
    expect(stories.size).toBeGreaterThan(1);
  });

  it('begins each scene of a track after the scene before it, within three minutes', () => {
    const { tracks } = new DemoStory({ random: new SeededRandom(1) } as unknown as Stage, 1);
    for (const track of tracks) {
      const times = track.map(({ at }) => at);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(times.at(-1)).toBeLessThan(180);
    }
  });
});
