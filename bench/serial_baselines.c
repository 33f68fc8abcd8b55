/* The loops of the baselines on one thread in C, for bench.serial_baselines: gcc -O2, no vectors by hand.
   SAMPLE is the type of a picture's samples. Cells outside the picture count as 0. */

static float sum_along(const SAMPLE *row, long sample, long samples, long channels, const float *weights,
                       long taps, long anchor)
{
    float total = 0;
    long at = sample - anchor * channels;
    if (at >= 0 && at + (taps - 1) * channels < samples) {
        for (long n = 0; n < taps; n++, at += channels)
            total += row[at] * weights[n];
    } else {
        for (long n = 0; n < taps; n++, at += channels)
            if (at >= 0 && at < samples)
                total += row[at] * weights[n];
    }
    return total;
}

void correlate(const SAMPLE *image, float *out, long height, long width, long channels, const float *weights,
               long rows, long columns)
{
    long samples = width * channels;
    for (long row = 0; row < height; row++)
        for (long sample = 0; sample < samples; sample++) {
            float total = 0;
            for (long m = 0; m < rows; m++) {
                long source = row + m - rows / 2;
                if (source >= 0 && source < height)
                    total += sum_along(image + source * samples, sample, samples, channels,
                                       weights + m * columns, columns, columns / 2);
            }
            out[row * samples + sample] = total;
        }
}

void correlate_in_two_passes(const SAMPLE *image, float *sums, float *out, long height, long width,
                             long channels, const float *column, long rows, const float *row_weights,
                             long columns)
{
    long samples = width * channels;
    for (long row = 0; row < height; row++)
        for (long sample = 0; sample < samples; sample++)
            sums[row * samples + sample] = sum_along(image + row * samples, sample, samples, channels,
                                                     row_weights, columns, columns / 2);
    for (long row = 0; row < height; row++)
        for (long sample = 0; sample < samples; sample++) {
            float total = 0;
            for (long m = 0; m < rows; m++) {
                long source = row + m - rows / 2;
                if (source >= 0 && source < height)
                    total += sums[source * samples + sample] * column[m];
            }
            out[row * samples + sample] = total;
        }
}

/* The layers of the network. */
void convolve(const float *maps, const float *filters, float *results, long channels, long side, long count)
{
    long out = side - 4;
    for (long m = 0; m < count; m++)
        for (long row = 0; row < out; row++)
            for (long column = 0; column < out; column++) {
                float total = 0;
                for (long c = 0; c < channels; c++) {
                    float partial = 0;
                    for (long p = 0; p < 5; p++)
                        for (long q = 0; q < 5; q++)
                            partial += maps[(c * side + row + p) * side + column + q]
                                       * filters[((m * channels + c) * 5 + p) * 5 + q];
                    total += partial;
                }
                results[(m * out + row) * out + column] = total < 0 ? 0 : total;
            }
}

void pool(const float *maps, float *results, long count, long side)
{
    long out = side / 2;
    for (long m = 0; m < count; m++)
        for (long row = 0; row < out; row++)
            for (long column = 0; column < out; column++) {
                float total = 0;
                for (long i = 0; i < 2; i++)
                    for (long j = 0; j < 2; j++)
                        total += maps[(m * side + 2 * row + i) * side + 2 * column + j];
                results[(m * out + row) * out + column] = total * 0.25f;
            }
}

void connect_layer(const float *values, const float *weights, float *results, long inputs, long outputs,
                   long part)
{
    for (long output = 0; output < outputs; output++) {
        float total = 0;
        for (long first = 0; first < inputs; first += part) {
            long end = first + part < inputs ? first + part : inputs;
            float partial = 0;
            for (long k = first; k < end; k++)
                partial += values[k] * weights[k * outputs + output];
            total += partial;
        }
        results[output] = total < 0 ? 0 : total;
    }
}

/* Baselines that are more than these loops: the product of matrices and operations on pictures. */
void product(const float *a, const float *b, float *out, long rows, long inner, long columns)
{
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++) {
            float total = 0;
            for (long k = 0; k < inner; k++)
                total += a[i * inner + k] * b[k * columns + j];
            out[i * columns + j] = total;
        }
}

void negative(const SAMPLE *image, SAMPLE *out, long samples, long white)
{
    for (long at = 0; at < samples; at++)
        out[at] = white - image[at];
}

void histogram(const SAMPLE *image, unsigned *counts, long pixels, long channels)
{
    for (long bin = 0; bin < 256 * channels; bin++)
        counts[bin] = 0;
    for (long at = 0; at < pixels; at++)
        for (long channel = 0; channel < channels; channel++)
            counts[channel * 256 + (long)image[at * channels + channel]]++;
}

static long inside(long index, long length)
{
    return index < 0 ? 0 : index < length ? index : length - 1;
}

void median(const SAMPLE *image, SAMPLE *out, long height, long width, long channels)
{
    for (long row = 0; row < height; row++)
        for (long column = 0; column < width; column++)
            for (long channel = 0; channel < channels; channel++) {
                SAMPLE sorted[9];
                long count = 0;
                for (long m = -1; m <= 1; m++)
                    for (long n = -1; n <= 1; n++) {
                        long source = inside(row + m, height) * width + inside(column + n, width);
                        SAMPLE value = image[source * channels + channel];
                        long at = count++;
                        for (; at > 0 && sorted[at - 1] > value; at--)
                            sorted[at] = sorted[at - 1];
                        sorted[at] = value;
                    }
                out[(row * width + column) * channels + channel] = sorted[4];
            }
}

/* Blocks of 8 x 8 to quantised cosines and back; height and width are multiples of 8. */
void compress(const SAMPLE *image, float *out, long height, long width, long channels, const float *basis,
              const float *steps)
{
    float *levels = out, *again = out + height * width * channels;
    float a[8][8], b[8][8];
    for (long top = 0; top < height; top += 8)
        for (long left = 0; left < width; left += 8)
            for (long channel = 0; channel < channels; channel++) {
                const long first = (top * width + left) * channels + channel, row = width * channels;
                for (int x = 0; x < 8; x++)
                    for (int y = 0; y < 8; y++)
                        a[x][y] = image[first + x * row + y * channels] - 128.0f;
                for (int i = 0; i < 8; i++)
                    for (int y = 0; y < 8; y++) {
                        b[i][y] = 0;
                        for (int x = 0; x < 8; x++)
                            b[i][y] += basis[8 * i + x] * a[x][y];
                    }
                for (int i = 0; i < 8; i++)
                    for (int j = 0; j < 8; j++) {
                        float total = 0;
                        for (int y = 0; y < 8; y++)
                            total += basis[8 * j + y] * b[i][y];
                        /* The nearest whole number. */
                        total = (total / steps[8 * i + j] + 12582912.0f) - 12582912.0f;
                        levels[first + i * row + j * channels] = total;
                        a[i][j] = total * steps[8 * i + j];
                    }
                for (int x = 0; x < 8; x++)
                    for (int j = 0; j < 8; j++) {
                        b[x][j] = 0;
                        for (int i = 0; i < 8; i++)
                            b[x][j] += basis[8 * i + x] * a[i][j];
                    }
                for (int x = 0; x < 8; x++)
                    for (int y = 0; y < 8; y++) {
                        float total = 0;
                        for (int j = 0; j < 8; j++)
                            total += basis[8 * j + y] * b[x][j];
                        again[first + x * row + y * channels] = total + 128.0f;
                    }
            }
}
