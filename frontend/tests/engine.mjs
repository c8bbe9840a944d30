// src/engine/spec.ts
/** What a reader has chosen cannot be computed; the message is a sentence for the reader. */
var UnfitRow = class extends Error {
	column;
	constructor(message, column) {
		super(message);
		this.column = column;
	}
};
// src/engine/encoding.ts
var FUNCTIONS = {
	log: Math.log,
	log1p: Math.log1p,
	log2: Math.log2,
	log10: Math.log10,
	exp: Math.exp,
	expm1: Math.expm1,
	sqrt: Math.sqrt,
	cbrt: Math.cbrt,
	square: (x) => x * x,
	abs: Math.abs,
	tanh: Math.tanh
};
/** A value that has no number, where one is needed, is refused. */
function makeEncoder(columns, array) {
	function one(position, value) {
		const { source, steps } = columns[position];
		for (const step of steps ?? []) value = follow(step, value, source, array);
		return asNumber(value, source);
	}
	return {
		one,
		row: (row) => Float64Array.from(columns, ({ source }, position) => one(position, row[source] ?? null))
	};
}
function follow(step, value, source, array) {
	if ("fill" in step) return isGap(value) ? step.fill : value;
	if (step.missing) return isGap(value) ? 1 : 0;
	if (step.one_of) return step.one_of.some((one) => same(one, value)) ? 1 : 0;
	if (step.none_of) return step.none_of.some((one) => same(one, value)) ? 0 : 1;
	if (step.known) {
		if (step.known.some((one) => same(one, value))) return value;
		throw new UnfitRow("The model does not know this category.", source);
	}
	if (isGap(value)) return null;
	const x = asNumber(value, source);
	if (step.factor !== void 0) return (x - step.origin) * step.factor + step.offset;
	if (step.low !== void 0) return Math.min(Math.max(x, step.low), step.high);
	if (step.ranks !== void 0) return rank(x, array(step.ranks));
	if (step.function !== void 0) return FUNCTIONS[step.function](x);
	if (step.above !== void 0) return x > step.above ? 1 : 0;
	throw new Error(`unknown step ${JSON.stringify(step)}`);
}
/** Between which of the user's values a column counts: beyond them the clustering limits it. */
function limitsOf(steps = []) {
	const back = [];
	for (const step of steps) {
		if (step.low !== void 0) {
			const ends = [step.low, step.high].map((end) => back.reduceRight((x, { origin, factor, offset }) => (x - offset) / factor + origin, end));
			return [Math.min(...ends), Math.max(...ends)];
		}
		if (step.factor) back.push(step);
		else if (!("fill" in step)) break;
	}
	return [-Infinity, Infinity];
}
function isGap(value) {
	return value === null || typeof value === "number" && Number.isNaN(value);
}
/** Whether a value is one that the model knows. A page may hold all categories as texts, as Python writes them. */
function same(known, value) {
	if (isGap(known) || isGap(value)) return isGap(known) && isGap(value);
	if (typeof known === "string") return known === value;
	return plain(known) === plain(value) || typeof value === "string" && Number(value || NaN) === plain(known);
}
/** Yes is 1 and no is 0, as in Python, which writes them so. */
function plain(value) {
	if (value === "True" || value === "False") return Number(value === "True");
	return typeof value === "boolean" ? Number(value) : value;
}
function asNumber(value, source) {
	if (isGap(value)) throw new UnfitRow("The model needs a value here.", source);
	const number = plain(value);
	if (typeof number !== "number") throw new UnfitRow("The model needs a number here.", source);
	if (!Number.isFinite(number)) throw new UnfitRow("This number is too large for the model.", source);
	return number;
}
/** scikit-learn's QuantileTransformer: of repeated quantiles, the mean of the first and the last rank. */
function rank(x, knots) {
	const last = knots.length - 1;
	if (x <= knots[0]) return 0;
	if (x >= knots[last]) return 1;
	const above = firstKnot(knots, (knot) => knot > x);
	const from = firstKnot(knots, (knot) => knot >= x);
	return (between(x, knots, above - 1, above) + (knots[from] === x ? from : between(x, knots, from - 1, from))) / (2 * last);
}
function between(x, knots, before, after) {
	return before + (x - knots[before]) / (knots[after] - knots[before]);
}
/** Knots ascend, and so does the condition: position of the first knot that fulfils it. */
function firstKnot(knots, fulfils) {
	let before = -1;
	let found = knots.length;
	while (found - before > 1) {
		const middle = before + found >> 1;
		if (fulfils(knots[middle])) found = middle;
		else before = middle;
	}
	return found;
}
// src/engine/linear.ts
/** Row `index` of a table with `width` columns; no copy. */
function rowOf(table, index, width) {
	return table.subarray(index * width, (index + 1) * width);
}
function dot(one, other) {
	let sum = 0;
	for (let i = 0; i < one.length; i++) sum += one[i] * other[i];
	return sum;
}
/** target += factor · vector. */
function add(target, factor, vector) {
	if (factor === 0) return;
	for (let i = 0; i < target.length; i++) target[i] += factor * vector[i];
}
/** Σ_j weights_j · row_j of a table. */
function weighted(weights, table, width) {
	const sum = new Float64Array(width);
	for (let j = 0; j < weights.length; j++) add(sum, weights[j], rowOf(table, j, width));
	return sum;
}
/** table · vector. */
function times(table, vector) {
	const width = vector.length;
	return Float64Array.from({ length: table.length / width }, (_, row) => dot(rowOf(table, row, width), vector));
}
function total(values) {
	let sum = 0;
	for (let i = 0; i < values.length; i++) sum += values[i];
	return sum;
}
/** The first position of the largest number. */
function largest(values) {
	let best = 0;
	for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
	return best;
}
// src/engine/pools.ts
/** h_k = z_c − z_k, against all or against one competitor. */
function evidenceAgainst(scores, cluster, against) {
	return scores.map((score, k) => k === cluster || against !== void 0 && k !== against ? Infinity : scores[cluster] - score);
}
function smallest(h) {
	let best = 0;
	for (let k = 1; k < h.length; k++) if (h[k] < h[best]) best = k;
	return best;
}
/** exp(−stiffness (h_k − min h)); 0 for those that do not compete. */
function nearness(h, least, stiffness) {
	return h.map((one) => one === Infinity ? 0 : Math.exp(stiffness * (least - one)));
}
function explainedBy(weights, h) {
	return weights.reduce((sum, weight, k) => h[k] === Infinity ? sum : sum + weight * h[k], 0);
}
/** numerator / denominator, where 0/0 on a border counts as 1. */
function ratio(numerator, denominator) {
	return numerator === denominator ? 1 : numerator / denominator;
}
/** f_c = min_k h_k. `inside` is whether the row is in the cluster: there, relevance sums to f_c. */
function minPool(h, beta, inside, rule) {
	const competitor = smallest(h);
	const least = h[competitor];
	const p = nearness(h, least, beta);
	const sum = p.reduce((one, other) => one + other, 0);
	let weights = p.map((one) => one / sum);
	if (rule === "min_take_most" && inside) weights = weights.map((one, k) => h[k] === Infinity ? 0 : one * ratio(least, h[k]));
	else if (inside) {
		const factor = ratio(least, explainedBy(weights, h));
		weights = weights.map((one) => one * factor);
	}
	return {
		evidence: least,
		competitor,
		weights,
		explained: explainedBy(weights, h),
		offset: 0
	};
}
/** Is the probability above the threshold? (Prop. 7, Eq. 30.) */
function softMinPool(h, threshold, stiffness) {
	const competitor = smallest(h);
	const least = h[competitor];
	const p = nearness(h, least, stiffness);
	const sum = p.reduce((one, other) => one + other, 0);
	const competitors = h.reduce((count, one) => one === Infinity ? count : count + 1, 0);
	const offset = Math.log1p(-threshold) - Math.log(threshold) - Math.log(competitors);
	const weights = p.map((one) => stiffness * one / sum);
	return {
		evidence: stiffness * least - Math.log(sum / competitors) + offset,
		competitor,
		weights,
		explained: explainedBy(weights, h) + offset,
		offset
	};
}
// src/engine/prototypes.ts
function prototypes(spec, array) {
	const [slopes, constants, positions] = [
		array("slopes"),
		array("constants"),
		array("positions")
	];
	const [bases, center] = [array("bases"), array("center")];
	const width = center.length;
	const count = constants.length;
	const several = spec.gamma !== void 0;
	const gamma = spec.gamma ?? Infinity;
	const starts = several ? Array.from(array("starts")) : Array.from({ length: count }, (_, node) => node);
	const clusters = starts.length;
	const members = starts.flatMap((start, cluster) => new Array((starts[cluster + 1] ?? count) - start).fill(cluster));
	const background = spec.background ? array("background") : void 0;
	const root = spec.noise || spec.background ? array("root") : void 0;
	const moments = slopes.map((slope, place) => .5 * slope * positions[place]);
	/** √τ A x, whose squared length the scores of nodes leave out. */
	function image(x) {
		if (!spec.mixes) return x.map((value, i) => value * root[i]);
		return Float64Array.from({ length: root.length / width }, (_, i) => dot(rowOf(root, i, width), x));
	}
	/** √τ Aᵀ of it. */
	function back(of) {
		return spec.mixes ? weighted(of, root, width) : of.map((value, i) => value * root[i]);
	}
	function squaredLength(x) {
		const seen = image(x);
		return dot(seen, seen);
	}
	function respond(encoded) {
		const point = encoded.map((value, i) => value - center[i]);
		const nodes = constants.map((constant, j) => dot(rowOf(slopes, j, width), point) - constant);
		if (spec.noise) nodes[count - 1] += squaredLength(point);
		if (!several) {
			const ones = new Float64Array(count).fill(1);
			return {
				scores: nodes,
				point,
				nodes,
				shares: ones,
				mass: ones
			};
		}
		const [scores, mass] = [new Float64Array(clusters), new Float64Array(clusters)];
		const shares = new Float64Array(count);
		const quadratic = background ? squaredLength(point) : 0;
		for (let k = 0; k < clusters; k++) {
			const [first, last] = [starts[k], starts[k + 1] ?? count];
			const level = background ? quadratic + Math.log(background[k]) / gamma : -Infinity;
			let top = level;
			for (let j = first; j < last; j++) top = Math.max(top, nodes[j]);
			let sum = 0;
			for (let j = first; j < last; j++) {
				shares[j] = gamma === Infinity ? Number(nodes[j] === top) : Math.exp(gamma * (nodes[j] - top));
				sum += shares[j];
			}
			const whole = level === -Infinity ? sum : sum + Math.exp(gamma * (level - top));
			for (let j = first; j < last; j++) shares[j] /= whole;
			mass[k] = sum / whole;
			scores[k] = top + Math.log(whole) / gamma;
		}
		return {
			scores,
			point,
			nodes,
			shares,
			mass
		};
	}
	function spread(response, cluster, weights) {
		const { scores, point, nodes, shares, mass } = response;
		const all = total(weights);
		const perCluster = weights.map((weight) => -weight * mass[cluster]);
		perCluster[cluster] = weights.reduce((sum, weight, k) => sum + weight * mass[k], 0);
		const signed = shares.map((share, j) => members[j] < weights.length ? perCluster[members[j]] * share : 0);
		let base = dot(signed, bases);
		if (several) {
			base += all * scores[cluster] - weights.reduce((sum, weight, k) => sum + weight * scores[k], 0);
			base -= dot(signed, nodes);
		}
		const values = weighted(signed, slopes, width);
		for (let i = 0; i < width; i++) values[i] *= point[i];
		add(values, -1, weighted(signed, moments, width));
		const own = shares.map((share, j) => members[j] === cluster ? share : 0);
		if (!spec.symmetric) {
			const others = shares.map((share, j) => share * (weights[members[j]] ?? 0));
			const [ownSlopes, ownPositions] = [weighted(own, slopes, width), weighted(own, positions, width)];
			const [slope, position] = [weighted(others, slopes, width), weighted(others, positions, width)];
			for (let i = 0; i < width; i++) values[i] -= .5 * (ownSlopes[i] * position[i] - ownPositions[i] * slope[i]);
		}
		if (spec.noise && signed[count - 1] !== 0) {
			const noise = clusters - 1;
			const pairs = cluster === noise ? signed : own.map((share) => share * weights[noise]);
			addNoise(values, point, signed[count - 1], pairs);
		}
		return {
			values,
			base
		};
	}
	/** What is quadratic: noise is one more competitor, with a constant outlier score (closed form 4). */
	function addNoise(values, point, weight, pairs) {
		const curved = back(image(point));
		if (spec.symmetric) {
			for (let i = 0; i < width; i++) values[i] += weight * point[i] * curved[i];
			return;
		}
		const [position, slope] = [weighted(pairs, positions, width), weighted(pairs, slopes, width)];
		for (let i = 0; i < width; i++) values[i] += (position[i] + weight * point[i]) * curved[i] - .5 * slope[i] * point[i];
	}
	return {
		respond,
		spread,
		noise: spec.noise
	};
}
// src/engine/quadratics.ts
function quadratics(spec, array) {
	const [maps, shifts, constants] = [
		array("maps"),
		array("shifts"),
		array("constants")
	];
	const [positions, center] = [array("positions"), array("center")];
	const width = center.length;
	const clusters = constants.length;
	const mapOf = (k) => rowOf(maps, k, maps.length / clusters);
	const shiftOf = (k) => rowOf(shifts, k, shifts.length / clusters);
	function residuals(x, k) {
		return (spec.diagonal ? x.map((value, i) => value * mapOf(k)[i]) : times(mapOf(k), x)).map((value, i) => value - shiftOf(k)[i]);
	}
	function score(x, k) {
		const away = residuals(x, k);
		return constants[k] - .5 * dot(away, away);
	}
	/** −∇z_k. */
	function fall(x, k) {
		const away = residuals(x, k);
		return spec.diagonal ? away.map((value, i) => value * mapOf(k)[i]) : weighted(away, mapOf(k), width);
	}
	function respond(encoded) {
		const point = encoded.map((value, i) => value - center[i]);
		return {
			scores: constants.map((_, k) => score(point, k)),
			point
		};
	}
	function spread(response, cluster, weights) {
		const { point } = response;
		const values = new Float64Array(width);
		const own = fall(point, cluster);
		let base = 0;
		weights.forEach((weight, k) => {
			if (weight === 0) return;
			const middle = rowOf(positions, k, width).map((value, i) => .5 * (value + positions[cluster * width + i]));
			const here = fall(point, k);
			const [ownThere, there] = [fall(middle, cluster), fall(middle, k)];
			for (let i = 0; i < width; i++) {
				const gradients = here[i] - own[i] + there[i] - ownThere[i];
				values[i] += weight * (point[i] - middle[i]) * .5 * gradients;
			}
			base += weight * (score(middle, cluster) - score(middle, k));
		});
		return {
			values,
			base
		};
	}
	return {
		respond,
		spread,
		noise: false
	};
}
// src/engine/projection.ts
var TINY = 1e-12;
var PARALLEL = 1e-13;
/** The shortest y on the right side of all sides and in the box; null where there is none. */
function shortest(sides, low, high) {
	const lengths = sides.map(({ normal }) => Math.sqrt(dot(normal, normal)));
	const flat = TINY * Math.max(1, ...lengths);
	if (sides.some(({ level }, i) => lengths[i] <= flat && level > TINY)) return null;
	return new Descent(sides.flatMap(({ normal, level }, i) => lengths[i] <= flat ? [] : [{
		normal: normal.map((value) => value / lengths[i]),
		level: level / lengths[i]
	}]), low, high).found();
}
var Descent = class {
	sides;
	low;
	high;
	y;
	/** Sides that hold the point, and with which multiplier. */
	held = /* @__PURE__ */ new Map();
	/** Coordinates that stand at a side of the box: 1 at the low one, −1 at the high one, and the multiplier. */
	fixed = /* @__PURE__ */ new Map();
	constructor(sides, low, high) {
		this.sides = sides;
		this.low = low;
		this.high = high;
		this.y = new Float64Array(low.length);
	}
	found() {
		for (let i = 0; i < this.low.length; i++) if (this.low[i] > this.high[i]) return null;
		const most = 50 * (this.sides.length + this.low.length + 1);
		for (let round = 0; round < most; round++) {
			const worst = this.mostViolated();
			if (!worst) return this.y;
			if (!this.take(worst)) return null;
			this.settle();
		}
		return null;
	}
	/** A side that the point is not on, or a coordinate outside the box, as a side of its own. */
	mostViolated() {
		const { y, low, high } = this;
		let gap = 0;
		for (const { level } of this.sides) gap = Math.max(gap, Math.abs(level));
		gap = 1e-13 * Math.max(gap, Math.sqrt(dot(y, y)));
		let [side, coordinate] = [-1, -1];
		this.sides.forEach(({ normal, level }, i) => {
			const missing = level - dot(normal, y);
			if (missing > gap && !this.held.has(i)) [side, gap] = [i, missing];
		});
		for (let i = 0; i < y.length; i++) {
			const missing = Math.max(low[i] - y[i], y[i] - high[i]);
			if (missing > gap && !this.fixed.has(i)) [coordinate, gap] = [i, missing];
		}
		if (coordinate >= 0) {
			const sign = y[coordinate] < low[coordinate] ? 1 : -1;
			const normal = new Float64Array(y.length);
			normal[coordinate] = sign;
			return {
				normal,
				level: sign > 0 ? low[coordinate] : -high[coordinate],
				coordinate
			};
		}
		return side < 0 ? null : {
			...this.sides[side],
			side
		};
	}
	/** Move until the side is met; sides that would have to pull are let go on the way. */
	take(worst) {
		const { normal, level } = worst;
		let multiplier = 0;
		for (;;) {
			const held = [...this.held.keys()];
			const pull = this.solve(held.map((i) => this.freeDot(this.sides[i].normal, normal)));
			const rest = normal.slice();
			held.forEach((i, place) => add(rest, -pull[place], this.sides[i].normal));
			const move = rest.slice();
			for (const i of this.fixed.keys()) move[i] = 0;
			const rise = dot(move, move);
			const whole = rise > PARALLEL ? (level - dot(normal, this.y)) / rise : Infinity;
			let part = Infinity;
			let leave = () => {};
			held.forEach((i, place) => {
				const until = pull[place] > TINY ? this.held.get(i) / pull[place] : Infinity;
				if (until < part) [part, leave] = [until, () => this.held.delete(i)];
			});
			for (const [i, { sign, multiplier: own }] of this.fixed) {
				const until = sign * rest[i] > TINY ? own / (sign * rest[i]) : Infinity;
				if (until < part) [part, leave] = [until, () => this.fixed.delete(i)];
			}
			const step = Math.min(whole, part);
			if (step === Infinity) return false;
			held.forEach((i, place) => this.held.set(i, this.held.get(i) - step * pull[place]));
			for (const [i, one] of this.fixed) one.multiplier -= step * one.sign * rest[i];
			multiplier += step;
			if (whole < Infinity) add(this.y, step, move);
			if (whole <= part) break;
			leave();
		}
		if (worst.side !== void 0) this.held.set(worst.side, multiplier);
		else this.fixed.set(worst.coordinate, {
			sign: normal[worst.coordinate],
			multiplier
		});
		return true;
	}
	/** The sides that hold the point are known: it follows from them to the last digit, so that rounding does not grow. */
	settle() {
		const y = new Float64Array(this.y.length);
		for (const [i, { sign }] of this.fixed) y[i] = sign > 0 ? this.low[i] : this.high[i];
		const held = [...this.held.keys()];
		const pull = this.solve(held.map((i) => this.sides[i].level - dot(this.sides[i].normal, y)));
		held.forEach((i, place) => {
			const { normal } = this.sides[i];
			for (let j = 0; j < y.length; j++) if (!this.fixed.has(j)) y[j] += pull[place] * normal[j];
		});
		this.y = y;
	}
	/** A product over the coordinates that are not fixed. */
	freeDot(one, other) {
		let sum = dot(one, other);
		for (const i of this.fixed.keys()) sum -= one[i] * other[i];
		return sum;
	}
	/** (N Nᵀ) m = right by Cholesky's method, N the held normals on the free coordinates. */
	solve(right) {
		const rows = [...this.held.keys()].map((i) => this.sides[i].normal);
		const root = [];
		const solution = right.slice();
		for (let i = 0; i < rows.length; i++) {
			root.push([]);
			for (let j = 0; j <= i; j++) {
				let sum = this.freeDot(rows[i], rows[j]);
				for (let k = 0; k < j; k++) sum -= root[i][k] * root[j][k];
				root[i].push(i === j ? Math.sqrt(Math.max(sum, Number.MIN_VALUE)) : sum / root[j][j]);
			}
			for (let k = 0; k < i; k++) solution[i] -= root[i][k] * solution[k];
			solution[i] /= root[i][i];
		}
		for (let i = rows.length - 1; i >= 0; i--) {
			for (let k = i + 1; k < rows.length; k++) solution[i] -= root[k][i] * solution[k];
			solution[i] /= root[i][i];
		}
		return solution;
	}
};
// src/engine/smallest_change.ts
var STEPS = [
	1e-9,
	1e-8,
	1e-7,
	1e-6,
	1e-5,
	1e-4,
	.001,
	.01
];
var MOST_PAIRED = 2e6;
function makeSmallestChange(spec, change, array, encoder, assign) {
	const own = spec.head.kind === "quadratics" ? "change-" : "";
	const [slopes, constants] = [array(`${own}slopes`), array(`${own}constants`)];
	const [center, scale] = [array("center"), array("scale")];
	const width = center.length;
	const starts = spec.head.kind === "prototypes" && spec.head.gamma !== void 0 ? array("starts") : Float64Array.from(constants, (_, node) => node);
	const memberOf = (node) => starts.reduce((found, start, k) => start <= node ? k : found, 0);
	const members = Array.from(constants, (_, node) => memberOf(node));
	const nodes = members.map((_, node) => node);
	const neverNegative = new Set(change.never_negative);
	const moves = /* @__PURE__ */ new Set([...change.numbers, ...Object.keys(change.bent).map(Number)]);
	const whole = new Set(spec.whole);
	/** Where a node is ahead of others, as sides in the scaled change of the moving columns. */
	function ahead(node, others, start, moving, step) {
		return others.map((other) => {
			const [one, two] = [rowOf(slopes, node, width), rowOf(slopes, other, width)];
			const normal = Float64Array.from(moving, (i) => (one[i] - two[i]) / scale[i]);
			return {
				normal,
				level: dot(two, start) - dot(one, start) + constants[node] - constants[other] + step * Math.sqrt(dot(normal, normal))
			};
		});
	}
	/** The nearest point of a union of polyhedra, in encoded columns; null where there is none. */
	function nearest(encoded, moving, from, to, step, within) {
		const [lowest, highest] = box(encoded, moving, within);
		let best = null;
		for (const sides of regions(encoded, moving, from, to, step)) {
			const found = shortest(sides, lowest, highest);
			const distance = found ? Math.sqrt(dot(found, found)) : Infinity;
			if (found && (!best || distance < best.distance)) best = {
				distance,
				change: found
			};
		}
		return best;
	}
	/** The polyhedra whose union is asked for: a cluster, or all that is not the row's own. */
	function regions(encoded, moving, from, to, step) {
		const start = encoded.map((value, i) => value - center[i]);
		const inside = nodes.filter((node) => members[node] === (to ?? from));
		const outside = nodes.filter((node) => members[node] !== (to ?? from));
		const [leaders, others] = to === void 0 ? [outside, inside] : [inside, outside];
		return leaders.map((node) => ahead(node, others, start, moving, step));
	}
	/** How far columns may move, in the units of the distance. */
	function box(encoded, moving, within) {
		const ends = moving.map((i) => {
			const { source } = spec.encoded[i];
			const bent = change.bent[source];
			if (bent) return [bent.low, bent.high];
			const range = within ? spec.ranges[source] : void 0;
			if (range) return [Math.min(range[0], encoded[i]), Math.max(range[1], encoded[i])];
			return [neverNegative.has(source) && encoded[i] >= 0 ? 0 : -Infinity, Infinity];
		});
		return [0, 1].map((side) => Float64Array.from(moving, (i, place) => (ends[place][side] - encoded[i]) * scale[i]));
	}
	/** A value of a bent column whose encoded one is wanted: where it is reached first, from the lowest on. */
	function valueOf(column, position, wanted) {
		const { lowest, highest } = change.bent[column];
		const rising = encoder.one(position, highest) > encoder.one(position, lowest);
		let [before, after] = [lowest, highest];
		for (let round = 0; round < 100; round++) {
			const middle = (before + after) / 2;
			const encoded = encoder.one(position, middle);
			if (rising ? encoded < wanted : encoded > wanted) before = middle;
			else after = middle;
		}
		return (before + after) / 2;
	}
	function several(row, fixed, to, within = false) {
		const encoded = encoder.row(row);
		const from = assign(encoded);
		if (to === from) return { why: "The row is in this cluster already." };
		const moving = [];
		spec.encoded.forEach(({ source }, i) => {
			if (moves.has(source) && !fixed.has(source) && scale[i] > 0) moving.push(i);
		});
		if (!moving.length) return { why: moves.size ? "All columns of numbers that could change are held fixed." : "The model reads no column of numbers that could change." };
		for (const step of STEPS) {
			const found = nearest(encoded, moving, from, to, step, within);
			if (!found) return { why: `No change of the free columns leads to ${to === void 0 ? "another cluster" : "this cluster"}: free a column.` };
			const { distance } = found;
			const point = row.slice();
			const sizes = /* @__PURE__ */ new Map();
			moving.forEach((i, place) => {
				const moved = found.change[place];
				if (Math.abs(moved) <= 1e-11 * distance) return;
				const column = spec.encoded[i].source;
				const wanted = encoded[i] + moved / scale[i];
				point[column] = column in change.bent ? valueOf(column, i, wanted) : wanted;
				sizes.set(column, Math.max(sizes.get(column) ?? 0, Math.abs(moved)));
			});
			const landed = assign(encoder.row(point));
			if (landed === from || to !== void 0 && landed !== to) continue;
			return {
				to: landed,
				distance,
				changes: [...sizes.keys()].sort((a, b) => sizes.get(b) - sizes.get(a) || a - b).map((column) => ({
					column,
					from: row[column] ?? null,
					to: point[column]
				})),
				point
			};
		}
		return { why: "No values of the free columns were found that lead there." };
	}
	/** Of the values that a column has, the one nearest to the row's own that leads there; the first of equals. */
	function chosen(row, column, to) {
		const encoded = encoder.row(row);
		const from = assign(encoded);
		if (to === from) return null;
		let best = null;
		for (const value of change.choices[column]) {
			const point = row.slice();
			point[column] = value;
			const other = encoder.row(point);
			const moved = other.map((code, i) => (code - encoded[i]) * scale[i]);
			const distance = Math.sqrt(dot(moved, moved));
			if (distance === 0 || best && distance >= best.distance) continue;
			const landed = assign(other);
			if (landed === from || to !== void 0 && landed !== to) continue;
			best = {
				to: landed,
				distance,
				changes: [{
					column,
					from: row[column] ?? null,
					to: value
				}],
				point
			};
		}
		return best;
	}
	/** The nearest value of one column, within the range of the data and whole where all of them are; null for none. */
	function alone(row, column, to) {
		if (column in change.choices) return chosen(row, column, to);
		const i = spec.encoded.findIndex(({ source }) => source === column);
		const range = spec.ranges[column];
		const encoded = encoder.row(row);
		const from = assign(encoded);
		if (to === from || !moves.has(column) || !range || !(scale[i] > 0)) return null;
		const [least, most] = box(encoded, [i], true).map(([end]) => end);
		for (const step of STEPS) {
			let best = null;
			for (const sides of regions(encoded, [i], from, to, step)) {
				let [low, high] = [least, most];
				for (const { normal, level } of sides) if (normal[0] > 1e-12) low = Math.max(low, level / normal[0]);
				else if (normal[0] < -1e-12) high = Math.min(high, level / normal[0]);
				else if (level > 1e-12) low = Infinity;
				if (low > high) continue;
				const codes = [encoded[i] + low / scale[i], encoded[i] + high / scale[i]];
				const moved = low > 0 ? low : Math.min(high, 0);
				const wanted = encoded[i] + moved / scale[i];
				const value = whole.has(column) ? wholeBetween(i, codes, row[column] ?? null, encoded[i]) : column in change.bent ? valueOf(column, i, wanted) : wanted;
				if (value === null) continue;
				const distance = whole.has(column) ? Math.abs(encoder.one(i, value) - encoded[i]) * scale[i] : Math.abs(moved);
				if (!best || distance < best.distance) best = {
					distance,
					value
				};
			}
			if (!best) return null;
			const point = row.slice();
			point[column] = best.value;
			const landed = assign(encoder.row(point));
			if (landed === from || to !== void 0 && landed !== to) continue;
			return {
				to: landed,
				distance: best.distance,
				changes: [{
					column,
					from: row[column] ?? null,
					to: best.value
				}],
				point
			};
		}
		return null;
	}
	/** Of all pairs of columns of numbers, the one with the smallest change within the data; null where none leads there. */
	function two(row, fixed, to) {
		const free = [...moves].filter((column) => !fixed.has(column)).sort((a, b) => a - b);
		if (nodes.length ** 2 * free.length ** 2 > MOST_PAIRED) return null;
		let best = null;
		for (const one of free) for (const other of free.filter((column) => column > one)) {
			const found = several(row, new Set([...moves].filter((column) => column !== one && column !== other)), to, true);
			if (!("why" in found) && (!best || found.distance < best.distance)) best = found;
		}
		return best;
	}
	/**
	* The same with whole numbers where columns hold no others: each rounded away from the row's own, then back as far as
	* still leads there, the smallest changes first. As it is where these do not lead there.
	*/
	function inWhole(row, found) {
		const point = found.point.slice();
		const whole_ = found.changes.filter((one) => whole.has(one.column) && typeof one.from === "number");
		const away = (one) => Math.sign(one.to - one.from);
		for (const one of whole_) point[one.column] = away(one) > 0 ? Math.ceil(one.to) : Math.floor(one.to);
		if (!whole_.length || assign(encoder.row(point)) !== found.to) return found;
		const leads = (column, value) => {
			const before = point[column];
			point[column] = value;
			if (assign(encoder.row(point)) === found.to) return true;
			point[column] = before;
			return false;
		};
		for (const one of whole_.slice().reverse()) {
			if (leads(one.column, one.from)) continue;
			while (Math.abs(point[one.column] - one.from) > 1 && leads(one.column, point[one.column] - away(one)));
		}
		const changes = found.changes.map((one) => ({
			...one,
			to: point[one.column]
		})).filter((one) => one.to !== one.from);
		const encoded = encoder.row(row);
		const moved = encoder.row(point).map((code, i) => (code - encoded[i]) * scale[i]);
		return {
			...found,
			distance: Math.sqrt(dot(moved, moved)),
			changes,
			point
		};
	}
	/** The whole number nearest to the row's own whose code lies between two; codes rise or fall with numbers. */
	function wholeBetween(i, [low, high], own, code) {
		const column = spec.encoded[i].source;
		let [first, last] = spec.ranges[column].map((end, side) => column in change.bent ? end : side ? Math.max(end, code) : Math.min(end, code));
		[first, last] = [Math.ceil(first), Math.floor(last)];
		const near = (x) => 1e-9 * (1 + Math.abs(x));
		const rising = encoder.one(i, last) >= encoder.one(i, first);
		/** The first whole number, from the lowest on, of which this is true. */
		const until = (true_) => {
			let [before, after] = [first - 1, last + 1];
			while (after - before > 1) {
				const middle = Math.floor((before + after) / 2);
				if (true_(encoder.one(i, middle))) after = middle;
				else before = middle;
			}
			return after;
		};
		const begin = until((x) => rising ? x >= low - near(low) : x <= high + near(high));
		const end = until((x) => rising ? x > high + near(high) : x < low - near(low)) - 1;
		if (begin > end) return null;
		if (typeof own !== "number") own = (begin + end) / 2;
		const clamp = (x) => Math.min(Math.max(x, begin), end);
		const [below, above] = [clamp(Math.floor(own)), clamp(Math.ceil(own))];
		return Math.abs(encoder.one(i, above) - code) < Math.abs(encoder.one(i, below) - code) ? above : below;
	}
	/**
	* The same with numbers that people can copy: of as few digits as lead to the same cluster, each rounded away from
	* the row's own, and by a fifth of its change at most. Three digits of what the column spans come first; what they do
	* not show stays as it is.
	*/
	function rounded(row, found, within) {
		for (let digits = 3; digits < 15; digits++) for (const few of [true, false]) {
			const changes = found.changes.flatMap((one) => {
				if (one.column in change.choices) return [one];
				const value = readable(one.column, one.from, one.to, digits, few, within);
				return value === one.from ? [] : [{
					...one,
					to: value
				}];
			});
			const near = changes.every(({ column, from, to }) => {
				if (column in change.choices) return true;
				const exact = found.changes.find((one) => one.column === column).to;
				return typeof from !== "number" || Math.abs(to - exact) <= .2 * Math.abs(exact - from);
			});
			const point = row.slice();
			for (const { column, to } of changes) point[column] = to;
			if (near && assign(encoder.row(point)) === found.to) return {
				...found,
				changes,
				point
			};
		}
		return found;
	}
	function readable(column, from, to, digits, few, within) {
		const [lowest, highest] = spec.ranges[column] ?? [0, 0];
		const unit = 10 ** (Math.floor(Math.log10(highest - lowest || Math.abs(to) || 1)) - digits + 1);
		if (whole.has(column) && Number.isInteger(to)) return to;
		if (typeof from !== "number") return Number((Math.round(to / unit) * unit).toPrecision(15));
		if (few && Math.round(to / unit) === Math.round(from / unit)) return from;
		const value = Number(((to > from ? Math.ceil(to / unit) : Math.floor(to / unit)) * unit).toPrecision(15));
		if (!within && !(column in change.bent)) return neverNegative.has(column) && from >= 0 ? Math.max(value, 0) : value;
		return Math.min(Math.max(value, Math.min(lowest, from)), Math.max(highest, from));
	}
	return {
		several,
		alone,
		two,
		inWhole,
		rounded
	};
}
// src/engine/index.ts
var MOST = Number.MAX_VALUE / 1e4;
function makeEngine(spec, array) {
	const encoder = makeEncoder(spec.encoded, array);
	const head = spec.head.kind === "prototypes" ? prototypes(spec.head, array) : quadratics(spec.head, array);
	const { pool, places } = spec;
	const countOf = (place) => places.indexOf(place);
	/** Where a cluster of the page is among the model's. */
	function placeOf(cluster) {
		if (!(places[cluster] >= 0)) throw new UnfitRow("The model does not know this cluster.");
		return places[cluster];
	}
	function respond(encoded) {
		const response = head.respond(encoded);
		const top = response.scores[largest(response.scores)];
		if (!(Math.abs(top) < MOST)) throw new UnfitRow("These numbers are too large for the model.");
		return response;
	}
	function pooled(h, inside, duel, rule) {
		if (pool.kind === "soft_min" && !duel) return softMinPool(h, pool.threshold, pool.stiffness);
		return minPool(h, spec.beta, inside, rule);
	}
	function explain(row, cluster, against) {
		const response = respond(encoder.row(row));
		const { scores } = response;
		const assigned = largest(scores);
		const asked = cluster === void 0 ? assigned : placeOf(cluster);
		const rival = against === void 0 ? void 0 : placeOf(against);
		const duel = rival !== void 0;
		if (asked === rival) throw new UnfitRow("A cluster does not compete with itself.");
		const noise = scores.length - 1;
		const h = evidenceAgainst(head.noise && scores.length > 2 && pool.kind === "min" && !duel && asked !== noise && assigned !== noise ? scores.subarray(0, noise) : scores, asked, rival);
		const rule = asked === assigned && !duel ? spec.rule : "expected";
		const { evidence, competitor, weights, explained, offset } = pooled(h, duel || asked === assigned, duel, rule);
		const { values, base } = head.spread(response, asked, weights);
		const collected = new Float64Array(spec.columns);
		spec.encoded.forEach(({ source }, position) => collected[source] += values[position]);
		const evidenceOf = (k) => pooled(evidenceAgainst(scores, k), true, false, "expected").evidence;
		return {
			assigned: countOf(assigned),
			cluster: countOf(asked),
			evidence,
			competitor: countOf(competitor),
			values: collected,
			base: base + offset,
			explained,
			scores: Float64Array.from(places, (place) => place < 0 ? NaN : evidenceOf(place))
		};
	}
	/** A column that is used twice may count further on. */
	function limits(column) {
		const found = spec.encoded.filter(({ source }) => source === column).map(({ steps }) => limitsOf(steps));
		return [Math.min(...found.map(([low]) => low)), Math.max(...found.map(([, high]) => high))];
	}
	if (!spec.change) return {
		explain,
		limits
	};
	const assign = (encoded) => largest(respond(encoded).scores);
	const change = makeSmallestChange(spec, spec.change, array, encoder, assign);
	const goal = (to) => to === void 0 ? void 0 : placeOf(to);
	const counted = (found) => ({
		...found,
		to: countOf(found.to)
	});
	return {
		explain,
		limits,
		smallestChange(row, fixed, to, within) {
			const found = change.several(row, fixed, goal(to), within);
			return "why" in found ? found : counted(found);
		},
		changeOf(row, column, to) {
			const found = change.alone(row, column, goal(to));
			return found && counted(found);
		},
		changeOfTwo(row, fixed, to) {
			const found = change.two(row, fixed, goal(to));
			return found && counted(found);
		},
		inWhole: (row, found) => counted(change.inWhole(row, {
			...found,
			to: placeOf(found.to)
		})),
		rounded: (row, found, within) => counted(change.rounded(row, {
			...found,
			to: placeOf(found.to)
		}, within))
	};
}
export { UnfitRow, makeEngine, same, shortest };
